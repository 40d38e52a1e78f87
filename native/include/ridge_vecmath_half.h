// The functions of ridge_vecmath.h for results that are rounded to bf16: 8 significant bits leave room for
// less accurate and cheaper forms. Relative error at most 2^-17 for arguments that are bf16 numbers, so that the rounded result is
// within 0.51 units in bf16's last place; native/elementwise's tests judge every bf16 number.
//
// Arguments outside the fast range (and NaN) get the bits of the accurate form, in every lane that has them.
//
// Multiply, multiply-add, divide | add, compare, logic, shift per vector:
//   gelu       15 + 1 | 8 (accurate: 24 + 2 | 14)     exp  6 | 3 (9 | 6)
//   gelu_tanh   7 + 1 | 6 (20 + 1 | 13)               sigmoid, silu  6 + 1 | 4 (9 and 10 + 1 | 7)
//   tanh        8 + 1 | 2 (11 + 1 | 11)               sin, cos  8 | 6 (10 | 11)
#ifndef RIDGE_VECMATH_HALF_H
#define RIDGE_VECMATH_HALF_H

#include "ridge_vecmath.h"

// 2^f, |f| <= 1/2; relative error 2^-18.5.
VFN vf vexp2_half(vf f) {
  vf p = vfma(vset(0.00957010191f), f, vset(0.0559178603f));
  p = vfma(p, f, vset(0.240247448f));
  p = vfma(p, f, vset(0.693121815f));
  return vfma(p, f, vset(0.999999261f));
}

// x Phi(x) = max(x,0) - a Q(a), a = |x|, Q(a) = exp(-a^2/2) P(a)/R(a): the fit's error is 2^-21 on [0, 14.5]. a^2 is exact.
VFN vg vgelu_half_fast(vg x) {
  vg a, t, n, p, r, e;
  EACH a.v[u] = vabs(x.v[u]);
  EACH t.v[u] = a.v[u] * a.v[u];
  EACH n.v[u] = vfma(t.v[u], vset(-0x1.715476p-1f), vset(RIDGE_MAGIC));
  EACH p.v[u] = a.v[u] + 6.99148066f;
  EACH p.v[u] = vfma(p.v[u], a.v[u], vset(21.1328896f));
  EACH p.v[u] = vfma(p.v[u], a.v[u], vset(29.1187364f));
  EACH r.v[u] = vfma(vset(2.50690325f), a.v[u], vset(17.5137019f));
  EACH r.v[u] = vfma(r.v[u], a.v[u], vset(55.6707015f));
  EACH r.v[u] = vfma(r.v[u], a.v[u], vset(88.7314304f));
  EACH r.v[u] = vfma(r.v[u], a.v[u], vset(58.237496f));
  EACH e.v[u] = vexp2_half(vfma(t.v[u], vset(-0x1.715476p-1f), RIDGE_MAGIC - n.v[u]));
  EACH p.v[u] = p.v[u] * a.v[u] * e.v[u] / r.v[u];
  EACH p.v[u] = vmax(vset(-0.0f), x.v[u]) - (vf)((vi)p.v[u] + ((vi)n.v[u] << 23));
  return p;
}

// x/(1 + exp(-v)), v = x (c + d x^2), with the exponential as a power of two.
VFN vg vgelu_tanh_half_fast(vg x) {
  vg t, n, e;
  EACH t.v[u] = x.v[u] * x.v[u];
  EACH t.v[u] = x.v[u] * vfma(t.v[u], vset(-0.102943240f), vset(-2.30220819f));
  EACH n.v[u] = t.v[u] + RIDGE_MAGIC;
  EACH e.v[u] = vexp2_half(t.v[u] - (n.v[u] - RIDGE_MAGIC));
  EACH e.v[u] = x.v[u] / (1 + (vf)((vi)e.v[u] + ((vi)n.v[u] << 23)));
  return e;
}

// 2^t of t = s x as e 2^n, |t - n| <= 1/2; s in fp32, so that |t| times its rounding, 2^-26, counts.
typedef struct {
  vg e, n;
} vpower;
VFN vpower vpower_half(vg x, float s) {
  vpower p;
  EACH p.n.v[u] = vfma(x.v[u], vset(s), vset(RIDGE_MAGIC));
  EACH p.e.v[u] = vfma(x.v[u], vset(s), RIDGE_MAGIC - p.n.v[u]);
  EACH p.e.v[u] = vexp2_half(p.e.v[u]);
  return p;
}

VFN vg vexp_half_fast(vg x) {
  vpower p = vpower_half(x, 0x1.715476p+0f);
  EACH p.e.v[u] = (vf)((vi)p.e.v[u] + ((vi)p.n.v[u] << 23));
  return p.e;
}

// a/(1 + exp(-x)).
VFN vg vlogistic_half(vg a, vg x) {
  vpower p = vpower_half(x, -0x1.715476p+0f);
  EACH p.e.v[u] = a.v[u] / (1 + (vf)((vi)p.e.v[u] + ((vi)p.n.v[u] << 23)));
  return p.e;
}
VFN vg vsigmoid_half_fast(vg x) {
  vg one;
  EACH one.v[u] = vset(1);
  return vlogistic_half(one, x);
}
VFN vg vsilu_half_fast(vg x) { return vlogistic_half(x, x); }

// sin(r) = r S(r^2), |r| <= pi/2, error 2^-20, and pi in two parts, which serve: of the bf16 numbers below RIDGE_SIN_MAX none comes
// within 2^-12 of a multiple of pi/2. The result's sign is flipped by sign's.
VFN vg vsin_half_poly(vg x, vg h, vg sign) {
  vg z, p;
  EACH x.v[u] = vfma(h.v[u], vset(-0x1.921fb6p+1f), x.v[u]);
  EACH x.v[u] = vfma(h.v[u], vset(0x1.777a5cp-24f), x.v[u]);
  EACH z.v[u] = x.v[u] * x.v[u];
  EACH p.v[u] = vfma(vset(-0.000184881399f), z.v[u], vset(0.00831189938f));
  EACH p.v[u] = vfma(p.v[u], z.v[u], vset(-0.16665554f));
  EACH p.v[u] = vfma(p.v[u], z.v[u], vset(0.999999046f));
  EACH p.v[u] = (vf)((vi)(p.v[u] * x.v[u]) ^ (vi)sign.v[u]);
  return p;
}
VFN vg vsin_half_fast(vg x) {
  vg a, h, sign;
  EACH a.v[u] = vabs(x.v[u]);
  EACH h.v[u] = vfma(a.v[u], vset(0x1.45f306p-2f), vset(RIDGE_MAGIC));
  EACH sign.v[u] = (vf)(((vi)h.v[u] << 31) ^ ((vi)x.v[u] & (int32_t)0x80000000));
  EACH h.v[u] = h.v[u] - RIDGE_MAGIC;
  return vsin_half_poly(a, h, sign);
}
VFN vg vcos_half_fast(vg x) {
  vg h, sign;
  EACH h.v[u] = vfma(x.v[u], vset(0x1.45f306p-2f), vset(-0.5f)) + (RIDGE_MAGIC + 1); // n + 1 in the low bits
  EACH sign.v[u] = (vf)((vi)h.v[u] << 31);
  EACH h.v[u] = (h.v[u] - (RIDGE_MAGIC + 1)) + 0.5f;
  return vsin_half_poly(x, h, sign);
}

// tanh(x) = x P(x^2)/Q(x^2), error 2^-20.5, on [-6.6, 6.6], behind which it is 1 to 2^-18.
VFN int vtanh_half_bad(vg x) { return (void)x, 0; }
VFN vg vtanh_half(vg x, int safe) {
  (void)safe;
  vg z, p, q;
  x = vclamp(x, -6.6f, 6.6f);
  EACH z.v[u] = x.v[u] * x.v[u];
  EACH p.v[u] = vfma(vset(0.0283186585f), z.v[u], vset(15.6936007f));
  EACH p.v[u] = vfma(p.v[u], z.v[u], vset(830.383789f));
  EACH p.v[u] = vfma(p.v[u], z.v[u], vset(6712.34131f));
  EACH q.v[u] = z.v[u] + 143.358917f;
  EACH q.v[u] = vfma(q.v[u], z.v[u], vset(3067.7981f));
  EACH q.v[u] = vfma(q.v[u], z.v[u], vset(6712.3457f));
  EACH p.v[u] = p.v[u] * x.v[u] / q.v[u];
  return p;
}

#define RIDGE_HALF_FORM(F, LIMIT)                                     \
  VFN int v##F##_half_bad(vg x) { return vbad(x, LIMIT); }            \
  VFN vg v##F##_half(vg x, int safe) {                                 \
    if (!safe) return v##F##_half_fast(x);                            \
    const vg exact = v##F(x, 1);                                      \
    vg in, y;                                                         \
    EACH in.v[u] = vselect(vabs(x.v[u]) <= LIMIT, x.v[u], vset(0));   \
    y = v##F##_half_fast(in);                                         \
    EACH y.v[u] = vselect(vabs(x.v[u]) <= LIMIT, y.v[u], exact.v[u]); \
    return y;                                                         \
  }
RIDGE_HALF_FORM(gelu, 12)
RIDGE_HALF_FORM(gelu_tanh, 9)
RIDGE_HALF_FORM(exp, 87)
RIDGE_HALF_FORM(sigmoid, 80)
RIDGE_HALF_FORM(silu, 80)
RIDGE_HALF_FORM(sin, RIDGE_SIN_MAX)
RIDGE_HALF_FORM(cos, RIDGE_SIN_MAX)

#endif
