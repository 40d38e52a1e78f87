// The functions of ridge_vecmath.h for results that are rounded to bf16: 8 significant bits leave room for
// less accurate and cheaper forms. Relative error at most 2^-17 for arguments that are bf16 numbers, so that the rounded result is
// within 0.51 units in bf16's last place; native/elementwise's tests judge every bf16 number.
//
// Arguments outside the fast range (and NaN) get the bits of the accurate form, in every lane that has them.
//
// Multiply, multiply-add, divide | add, compare, logic, shift per vector: gelu 15 + 1 | 8 (accurate: 24 + 2 | 14),
// gelu_tanh 7 + 1 | 6 (20 + 1 | 13).
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

#endif
