// exp, tanh, sigmoid, SiLU, GELU, sin and cos over the groups of ridge_vec.h, in fp32.
//
// Each function is written for the arguments that occur: without clamps, and with the power of
// two added to the exponent bits. Its _bad predicate finds a group with an argument outside (or a
// NaN); such a group goes through the same function with safe = 1, which gives every other
// lane the same bits. NaN gives NaN, infinities give the function's limits (sin and cos NaN).
//
// Operations per vector (multiply, multiply-add, divide | add, compare, logic, shift | worst error):
//   exp        9         |  6 | 0.88 ulp     tanh      10 + 1 div | 10 | 2.48 ulp
//   sigmoid    9 + 1 div |  7 | 2.45         silu       9 + 1     |  7 | 2.33
//   gelu      23 + 1     |  9 | 5.4          gelu_tanh 18 + 1     | 10 | 2.36
//   sin       10         | 11 | 1.79         cos       10         | 11 | 1.79
// The errors are those of every 11th float of the whole range; gelu's is 3.3 ulp between -1 and 1 and
// 1.1 above 1, the rest in its left tail.
//
// Polynomials are minimax in relative error (Lawson-weighted least squares on 2,000
// Chebyshev nodes, evaluated with 50 digits; each coefficient rounded to fp32 before the
// next was fitted). The error of each fit is given in units of 2^-24. Every function was
// compared with float64 by native/elementwise's tests; the limits stand there.
#ifndef RIDGE_VECMATH_H
#define RIDGE_VECMATH_H

#include <math.h>

#include "ridge_vec.h"

// Adding 1.5 * 2^23 rounds |x| < 2^22 to a whole number, which is left in the low bits.
#define RIDGE_MAGIC 0x1.8p23f

// Whether an argument lies outside [-limit, limit]. As integers the bits of NaN are large.
VFN int vbad(vg x, float limit) {
  vi bad = {0};
  EACH bad |= ((vi)x.v[u] & 0x7fffffff) > (vi)vset(limit);
  return vany(bad);
}

// exp(s*x) = 2^n (1 + q*r): x = n ln(2)/s + r, |s*r| <= ln(2)/2. s is a power of two or its negative,
// so scaling the constants by it is exact. low is added to r: the part of the argument that x
// could not hold. n comes as n + RIDGE_MAGIC. ln(2) = 0x1.62e43p-1 - 0x1.05c61p-29 - ...
// exp(r) = 1 + r (1 + r (1/2 + ...)), |r| <= ln(2)/2; the fit's error is 0.05.
typedef struct {
  vg q, r, n;
} vexp_parts;

VFN vexp_parts vexp_core(vg x, float s, const vg *low) {
  vexp_parts e;
  vg k;
  EACH e.n.v[u] = vfma(x.v[u], vset(s * 0x1.715476p+0f), vset(RIDGE_MAGIC));
  EACH k.v[u] = e.n.v[u] - RIDGE_MAGIC;
  EACH e.r.v[u] = vfma(k.v[u], vset(-0x1.62e43p-1f / s), x.v[u]);
  EACH e.r.v[u] = vfma(k.v[u], vset(0x1.05c61p-29f / s), e.r.v[u]);
  if (low) EACH e.r.v[u] = e.r.v[u] + low->v[u];
  EACH e.q.v[u] = vfma(vset(0x1.6a4b36p-10f * s * s * s * s * s * s), e.r.v[u], vset(0x1.12398ep-7f * s * s * s * s * s));
  EACH e.q.v[u] = vfma(e.q.v[u], e.r.v[u], vset(0x1.5558b2p-5f * s * s * s * s));
  EACH e.q.v[u] = vfma(e.q.v[u], e.r.v[u], vset(0x1.555492p-3f * s * s * s));
  EACH e.q.v[u] = vfma(e.q.v[u], e.r.v[u], vset(0x1.fffffcp-2f * s * s));
  EACH e.q.v[u] = vfma(e.q.v[u], e.r.v[u], vset(s));
  return e;
}

// p * 2^n. Fast: by the exponent bits, for normal p (or n = 0) and normal results. Safe: for n in
// [-252, 254], in two steps so that denormal results are rounded once.
VFN vf vscale(vf p, vf n_magic, int safe) {
  if (!safe) return (vf)((vi)p + ((vi)n_magic << 23));
  vi n = (vi)n_magic - 0x4b400000;
  vi half = n >> 1;
  vf a = (vf)((half + 127) << 23), b = (vf)((n - half + 127) << 23);
  return p * a * b;
}

// x in [lo, hi]; NaN stays.
VFN vg vclamp(vg x, float lo, float hi) {
  EACH x.v[u] = vmin(vset(hi), vmax(vset(lo), x.v[u]));
  return x;
}

// exp(x). Below -103.97 (half the smallest denormal) 0, from 88.72284 on infinity.
VFN int vexp_bad(vg x) { return vbad(x, 87); }
VFN vg vexp(vg x, int safe) {
  if (safe) x = vclamp(x, -104, 89);
  vexp_parts e = vexp_core(x, 1, NULL);
  vg y;
  EACH y.v[u] = vscale(vfma(e.q.v[u], e.r.v[u], vset(1)), e.n.v[u], safe);
  return y;
}

// exp(-x) for |x| <= 87.
VFN vg vexp_minus(vg x) {
  vexp_parts e = vexp_core(x, -1, NULL);
  EACH x.v[u] = vscale(vfma(e.q.v[u], e.r.v[u], vset(1)), e.n.v[u], 0);
  return x;
}

// 1/(1 + exp(-x)); below -87, where exp(-x) ends, it is exp(x). (exp(x)/(1 + exp(x)) for negative x
// costs a selection and is hardly closer: 2.40 ulp.)
VFN int vsigmoid_bad(vg x) { return vbad(x, 87); }
VFN vg vsigmoid(vg x, int safe) {
  vg e = vexp_minus(safe ? vclamp(x, -87, 87) : x), y;
  EACH y.v[u] = vset(1) / (e.v[u] + 1);
  if (safe) {
    vg tail = vexp(x, 1);
    EACH y.v[u] = vselect(x.v[u] < -87, tail.v[u], y.v[u]);
  }
  return y;
}

// x/(1 + exp(-x)); below -87 it is x * exp(x), scaled after the product.
VFN int vsilu_bad(vg x) { return vbad(x, 87); }
VFN vg vsilu(vg x, int safe) {
  vg e = vexp_minus(safe ? vclamp(x, -87, 87) : x), y;
  EACH y.v[u] = x.v[u] / (e.v[u] + 1);
  if (safe) {
    vg low = vclamp(x, -110, 0);
    vexp_parts t = vexp_core(low, 1, NULL);
    EACH y.v[u] = vselect(x.v[u] < -87, vscale(low.v[u] * vfma(t.q.v[u], t.r.v[u], vset(1)), t.n.v[u], 1), y.v[u]);
  }
  return y;
}

// tanh(x) = m/(m+2), m = expm1(2|x|), computed with relative accuracy for small x:
// m = 2^n * expm1(r) + (2^n - 1). expm1(r) = r + r^2 P(r), its relative error 0.23. Beyond
// 9.1 tanh rounds to 1 in fp32.
VFN int vtanh_bad(vg x) { return (void)x, 0; }
VFN vg vtanh(vg x, int safe) {
  (void)safe;
  vg a, n, r, p, y;
  EACH a.v[u] = vabs(x.v[u]);
  EACH a.v[u] = vmin(vset(18.2f), a.v[u] + a.v[u]);
  EACH n.v[u] = vfma(a.v[u], vset(0x1.715476p+0f), vset(RIDGE_MAGIC));
  EACH r.v[u] = vfma(n.v[u] - RIDGE_MAGIC, vset(-0x1.62e43p-1f), a.v[u]);
  EACH r.v[u] = vfma(n.v[u] - RIDGE_MAGIC, vset(0x1.05c61p-29f), r.v[u]);
  EACH p.v[u] = vfma(vset(0x1.6b9c66p-10f), r.v[u], vset(0x1.12254ap-7f));
  EACH p.v[u] = vfma(p.v[u], r.v[u], vset(0x1.5556f2p-5f));
  EACH p.v[u] = vfma(p.v[u], r.v[u], vset(0x1.5554b4p-3f));
  EACH p.v[u] = vfma(p.v[u], r.v[u], vset(0x1.fffffep-2f));
  EACH p.v[u] = vfma(p.v[u] * r.v[u], r.v[u], r.v[u]);
  EACH n.v[u] = (vf)(((vi)n.v[u] << 23) + 0x3f800000); // 2^n, n in [0, 27]
  EACH p.v[u] = vfma(n.v[u], p.v[u], n.v[u] - 1);
  EACH y.v[u] = p.v[u] / (p.v[u] + 2);
  EACH y.v[u] = (vf)((vi)y.v[u] | ((vi)x.v[u] & (int32_t)0x80000000));
  return y;
}

// Exact GELU x*Phi(x) = max(x,0) - |x| Q(|x|), Q(a) = erfc(a/sqrt(2))/2 = exp(-a^2/2) R(a).
// No cancellation: for x < 0 the first term is 0, for x > 0 the second at most 0.17. R is a
// ratio of polynomials with positive coefficients on [0, 14.5], error 0.36. In the left tail the result
// is as sensitive to a^2 as a^2 is large, so a^2 is kept in two floats.
VFN int vgelu_bad(vg x) { return vbad(x, 13); }
VFN vg vgelu(vg x, int safe) {
  vg a, h, low, p, q;
  EACH a.v[u] = vabs(x.v[u]);
  if (safe) EACH a.v[u] = vmin(vset(14.5f), a.v[u]); // Q(14.5) * 14.5 rounds to 0
  EACH h.v[u] = a.v[u] * a.v[u];
  EACH low.v[u] = vfma(a.v[u], a.v[u], -h.v[u]);
  vexp_parts e = vexp_core(h, -0.5f, &low);
  EACH p.v[u] = vfma(vset(0x1.0b3b8p-8f), a.v[u], vset(0x1.4abbd2p-5f));
  EACH p.v[u] = vfma(p.v[u], a.v[u], vset(0x1.75aedcp-3f));
  EACH p.v[u] = vfma(p.v[u], a.v[u], vset(0x1.bfbee6p-2f));
  EACH p.v[u] = vfma(p.v[u] * a.v[u], a.v[u], a.v[u] * 0.5f); // a P(a): P's own last rounding is saved
  EACH q.v[u] = vfma(vset(0x1.4eec06p-7f), a.v[u], vset(0x1.9e8a84p-4f));
  EACH q.v[u] = vfma(q.v[u], a.v[u], vset(0x1.dea624p-2f));
  EACH q.v[u] = vfma(q.v[u], a.v[u], vset(0x1.3304ep+0f));
  EACH q.v[u] = vfma(q.v[u], a.v[u], vset(0x1.ac21a4p+0f));
  EACH q.v[u] = vfma(q.v[u], a.v[u], vset(1));
  EACH p.v[u] = vfma(p.v[u], e.q.v[u] * e.r.v[u], p.v[u]) / q.v[u];
  EACH p.v[u] = vmax(vset(0), x.v[u]) - vscale(p.v[u], e.n.v[u], safe);
  return p;
}

// v = x (c + d x^2) in two floats: c = 2 sqrt(2/pi), d = 0.044715 c, each in two floats (to 2^-46). w = c + d x^2
// rounds to w + wl; c - w is exact because c's first part ends at 2^-19.
VFN vg vgelu_tanh_argument(vg x, vg *low) {
  const vf c = vset(0x1.98846p+0f), cl = vset(-0x1.985794p-21f), d = vset(0x1.2444f2p-4f), dl = vset(0x1.49b16ap-29f);
  vg s, sl, w, wl, v;
  EACH s.v[u] = x.v[u] * x.v[u];
  EACH sl.v[u] = vfma(x.v[u], x.v[u], -s.v[u]);
  EACH w.v[u] = vfma(d, s.v[u], c);
  EACH wl.v[u] = vfma(d, s.v[u], c - w.v[u]) + cl;
  EACH wl.v[u] = vfma(d, sl.v[u], vfma(dl, s.v[u], wl.v[u]));
  EACH v.v[u] = x.v[u] * w.v[u];
  EACH low->v[u] = vfma(x.v[u], wl.v[u], vfma(x.v[u], w.v[u], -v.v[u]));
  return v;
}

// The tanh form of GELU: x/2 (1 + tanh(v/2)) = x/(1 + exp(-v)). In the left tail the result is as
// sensitive to v as v is large (up to 87): hence the two floats.
VFN int vgelu_tanh_bad(vg x) { return vbad(x, 9.97f); }
VFN vg vgelu_tanh(vg x, int safe) {
  vg low, v = vgelu_tanh_argument(safe ? vclamp(x, -9.97f, 9.97f) : x, &low), y;
  vexp_parts e = vexp_core(v, -1, &low);
  EACH y.v[u] = x.v[u] / (vscale(vfma(e.q.v[u], e.r.v[u], vset(1)), e.n.v[u], 0) + 1);
  if (safe) { // below -9.97 it is x * exp(v), scaled after the product; at -11 it rounds to 0
    vg a = vclamp(x, -11, 0);
    v = vgelu_tanh_argument(a, &low);
    e = vexp_core(v, 1, &low);
    EACH a.v[u] = vscale(vfma(e.q.v[u] * e.r.v[u], a.v[u], a.v[u]), e.n.v[u], 1);
    EACH y.v[u] = vselect(x.v[u] < -9.97f, a.v[u], y.v[u]);
  }
  return y;
}

// Largest |x| that the three-part reduction by pi serves: n < 2^16 times the last part's
// error 2^-76 and the parts' roundings stay below 2^-24 of the result's absolute scale.
#define RIDGE_SIN_MAX 0x1p17f

// sin(r) = r + r^3 S(r^2), |r| <= pi/2, error 0.10; then the sign (-1)^n. The sum is taken as
// r + (r^3 S), so the rounding of r^3 S counts with its size, at most 0.57.
VFN vg vsin_poly(vg r, vg sign) {
  vg z, p;
  EACH z.v[u] = r.v[u] * r.v[u];
  EACH p.v[u] = vfma(vset(0x1.5dc8c4p-19f), z.v[u], vset(-0x1.9f70eep-13f));
  EACH p.v[u] = vfma(p.v[u], z.v[u], vset(0x1.110edap-7f));
  EACH p.v[u] = vfma(p.v[u], z.v[u], vset(-0x1.55554cp-3f));
  EACH p.v[u] = vfma(p.v[u] * z.v[u], r.v[u], r.v[u]);
  p = vclamp(p, -1, 1); // near pi/2 the sum may round to the number above 1
  EACH p.v[u] = (vf)((vi)p.v[u] ^ (vi)sign.v[u]);
  return p;
}

// x - h*pi with pi = 0x1.921fb6p+1 - 0x1.777a5cp-24 - 0x1.ee59dap-49.
VFN vg vpi_reduce(vg x, vg h) {
  EACH x.v[u] = vfma(h.v[u], vset(-0x1.921fb6p+1f), x.v[u]);
  EACH x.v[u] = vfma(h.v[u], vset(0x1.777a5cp-24f), x.v[u]);
  EACH x.v[u] = vfma(h.v[u], vset(0x1.ee59dap-49f), x.v[u]);
  return x;
}

// Lanes beyond RIDGE_SIN_MAX (and infinities, which give NaN) by the C library's function.
VFN vg vlibrary(vg x, vg y, float (*f)(float)) {
  EACH for (int i = 0; i < VL; i++) {
    float v = x.v[u][i];
    if (!(v >= -RIDGE_SIN_MAX && v <= RIDGE_SIN_MAX)) y.v[u][i] = f(v);
  }
  return y;
}

// sin(|x|), then the sign of x: so -0 keeps its own.
VFN int vsin_bad(vg x) { return vbad(x, RIDGE_SIN_MAX); }
VFN vg vsin(vg x, int safe) {
  vg a, h, sign;
  EACH a.v[u] = vabs(x.v[u]);
  EACH h.v[u] = vfma(a.v[u], vset(0x1.45f306p-2f), vset(RIDGE_MAGIC)); // n = round(x/pi)
  EACH sign.v[u] = (vf)(((vi)h.v[u] << 31) ^ ((vi)x.v[u] & (int32_t)0x80000000));
  EACH h.v[u] = h.v[u] - RIDGE_MAGIC;
  vg y = vsin_poly(vpi_reduce(a, h), sign);
  return safe ? vlibrary(x, y, sinf) : y;
}

// cos(x) = sin(x + pi/2): with h = n + 1/2 nearest x/pi, cos(x) = -(-1)^n sin(x - h*pi).
VFN int vcos_bad(vg x) { return vbad(x, RIDGE_SIN_MAX); }
VFN vg vcos(vg x, int safe) {
  vg h, sign;
  EACH h.v[u] = vfma(x.v[u], vset(0x1.45f306p-2f), vset(-0.5f)) + RIDGE_MAGIC;
  EACH sign.v[u] = (vf)(((vi)h.v[u] << 31) ^ (int32_t)0x80000000);
  EACH h.v[u] = (h.v[u] - RIDGE_MAGIC) + 0.5f;
  vg y = vsin_poly(vpi_reduce(x, h), sign);
  return safe ? vlibrary(x, y, cosf) : y;
}

#endif
