// exp, tanh, sigmoid, SiLU, GELU, sin and cos over the groups of ridge_vec.h, in fp32.
//
// Each function is written for the arguments that occur: without clamps, and with the power of
// two added to the exponent bits. Its _bad predicate finds a group with an argument outside (or a
// NaN); such a group goes through the same function with safe = 1, which gives every other
// lane the same bits. NaN gives NaN, infinities give the function's limits (sin and cos NaN).
//
// Operations per vector (multiply, multiply-add, divide | add, compare, logic, shift | worst error):
//   exp        9         |  6 | 0.87 ulp     tanh      12 + 1 div |  7 | 1.95 ulp
//   sigmoid    9 + 1 div |  7 | 1.66         silu      10 + 1     |  7 | 1.87
//   gelu      24 + 2     | 14 | 2.015        gelu_tanh 20 + 1     | 13 | 1.93
//   sin       10         |  9 | 1.68         cos       10         | 10 | 1.75
// Over every float for gelu and gelu_tanh, every 2nd for silu, 7th for sigmoid, 11th for tanh, 37th for the others. AVX-512: sin 7, cos 8.
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
// AVX-512 compares on the pipes of the multiply-adds, so the largest is found first, where any pipe will do: one comparison a group.
VFN int vbad(vg x, float limit) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  __m512i most = (__m512i)vabs(x.v[0]); // as the functions spell it, so that it is computed once
  EACH most = _mm512_max_epu32(most, (__m512i)vabs(x.v[u]));
  return _mm512_cmpgt_epu32_mask(most, (__m512i)vset(limit)) != 0;
#else
  vi bad = {0};
  EACH bad |= ((vi)x.v[u] & 0x7fffffff) > (vi)vset(limit);
  return vany(bad);
#endif
}

// Whether a number lies outside [lo, hi]; of NaN, which the functions pass on by themselves, it may say either.
VFN int voutside(vg x, float lo, float hi) {
  vf least = x.v[0], most = x.v[0];
  EACH least = vmin(x.v[u], least), most = vmax(x.v[u], most);
  return vany(~((least >= lo) & (most <= hi)));
}

// exp(s*r) = 1 + q*r, |s*r| <= ln(2)/2; the fit's error is 0.05. (s = 1, or a constant that the coefficients take up.)
VFN vg vexp_poly(vg r, float s) {
  vg q;
  EACH q.v[u] = vfma(vset(0x1.6a4b36p-10f * s * s * s * s * s * s), r.v[u], vset(0x1.12398ep-7f * s * s * s * s * s));
  EACH q.v[u] = vfma(q.v[u], r.v[u], vset(0x1.5558b2p-5f * s * s * s * s));
  EACH q.v[u] = vfma(q.v[u], r.v[u], vset(0x1.555492p-3f * s * s * s));
  EACH q.v[u] = vfma(q.v[u], r.v[u], vset(0x1.fffffcp-2f * s * s));
  EACH q.v[u] = vfma(q.v[u], r.v[u], vset(s));
  return q;
}

// x = n ln(2) + r: exp(x) = 2^n exp(r) and exp(-x) = 2^-n exp(-r), where exp(s*r) = 1 + q*r, s = 1 or -1. n comes
// as n + RIDGE_MAGIC. ln(2) = 0x1.62e43p-1 - 0x1.05c61p-29 - ...
typedef struct {
  vg q, r, n;
} vexp_parts;

VFN vexp_parts vexp_core(vg x, float s) {
  vexp_parts e;
  vg k;
  EACH e.n.v[u] = vfma(x.v[u], vset(0x1.715476p+0f), vset(RIDGE_MAGIC));
  EACH k.v[u] = e.n.v[u] - RIDGE_MAGIC;
  EACH e.r.v[u] = vfma(k.v[u], vset(-0x1.62e43p-1f), x.v[u]);
  EACH e.r.v[u] = vfma(k.v[u], vset(0x1.05c61p-29f), e.r.v[u]);
  e.q = vexp_poly(e.r, s);
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

// x, at most limit away from 0; not of NaN.
VFN vf vmost(vf x, float limit) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)_mm512_range_ps((__m512)x, (__m512)vset(limit), 2); // the smaller absolute value, with x's sign
#else
  return vmin(vset(limit), vmax(vset(-limit), x));
#endif
}

// exp(x). Below -103.97 (half the smallest denormal) 0, from 88.72284 on infinity.
VFN int vexp_bad(vg x) { return vbad(x, 87); }
VFN vg vexp(vg x, int safe) {
  if (safe) x = vclamp(x, -104, 89);
  vexp_parts e = vexp_core(x, 1);
  vg y;
  EACH y.v[u] = vscale(vfma(e.q.v[u], e.r.v[u], vset(1)), e.n.v[u], safe);
  return y;
}

// a/(1 + exp(-x)) from x = n ln(2) + r as a t/(t + exp(-r)), t = 2^n: with exp(-r) = 1 + q r the sum is
// (1 + t) + q r, and the first term is exact from n = -23 to 23. It takes one rounding where 1 + exp(-x) takes two.
// Above it t alone is as good; below, where the quotient is as sensitive to the lost t, t goes to q r, and
// the power of two is applied last so that denormal results are rounded once.
VFN vf vlogistic(vf a, vf q, vf r, vf t) { return a * t / vfma(q, r, t + 1); }
VFN vf vlogistic_tail(vf a, vf q, vf r, vf t, vf n) { return vscale(a / (vfma(q, r, t) + 1), n, 1); }

// 1/(1 + exp(-x)). At -110 it rounds to 0, at 80 to 1.
VFN int vsigmoid_bad(vg x) { return voutside(x, -16, 80); }
VFN vg vsigmoid(vg x, int safe) {
  vexp_parts e = vexp_core(safe ? vclamp(x, -110, 80) : x, -1);
  vg t, y;
  EACH t.v[u] = vscale(vset(1), e.n.v[u], safe);
  EACH y.v[u] = vlogistic(vset(1), e.q.v[u], e.r.v[u], t.v[u]);
  if (safe) EACH y.v[u] = vselect(x.v[u] < -16, vlogistic_tail(vset(1), e.q.v[u], e.r.v[u], t.v[u], e.n.v[u]), y.v[u]);
  return y;
}

// x/(1 + exp(-x)). At -110 it rounds to -0, at 80 to x.
VFN int vsilu_bad(vg x) { return voutside(x, -16, 80); }
VFN vg vsilu(vg x, int safe) {
  const vg c = safe ? vclamp(x, -110, 80) : x;
  vexp_parts e = vexp_core(c, -1);
  vg t, y;
  EACH t.v[u] = vscale(vset(1), e.n.v[u], safe);
  EACH y.v[u] = vlogistic(c.v[u], e.q.v[u], e.r.v[u], t.v[u]);
  if (safe) {
    EACH y.v[u] = vselect(x.v[u] < -16, vlogistic_tail(c.v[u], e.q.v[u], e.r.v[u], t.v[u], e.n.v[u]), y.v[u]);
    EACH y.v[u] = vselect(x.v[u] > 80, x.v[u], y.v[u]);
  }
  return y;
}

// tanh(x) = m/(m+2), m = expm1(2|x|), computed with relative accuracy for small x:
// m = 2^n * expm1(2r) + (2^n - 1), r = |x| - n ln(2)/2. expm1(2r) = 2r + (2r)^2 P(2r), its relative error 0.23. Beyond
// 9.1 tanh rounds to 1 in fp32. Numerator and denominator carry the factor RIDGE_TANH_SCALE: for small x they are then
// about 1.5 times a power of two, where a rounding weighs 2/3 of what it does just above the power.
#define RIDGE_TANH_SCALE 1.4765625f
VFN int vtanh_bad(vg x) { return (void)x, 0; }
VFN vg vtanh(vg x, int safe) {
  (void)safe;
  const float c = RIDGE_TANH_SCALE, biased = RIDGE_MAGIC + 127; // leaves n as an exponent in the low bits
  vg a, n, r, p, y;
  EACH a.v[u] = vmin(vset(9.1f), vabs(x.v[u]));
  EACH n.v[u] = vfma(a.v[u], vset(0x1.715476p+1f), vset(biased));
  EACH r.v[u] = vfma(n.v[u] - biased, vset(-0x1.62e43p-2f), a.v[u]);
  EACH r.v[u] = vfma(n.v[u] - biased, vset(0x1.05c61p-30f), r.v[u]);
  EACH p.v[u] = vfma(vset(0x1.6b9c66p-4f * c), r.v[u], vset(0x1.12254ap-2f * c));
  EACH p.v[u] = vfma(p.v[u], r.v[u], vset(0x1.5556f2p-1f * c));
  EACH p.v[u] = vfma(p.v[u], r.v[u], vset(0x1.5554b4p+0f * c));
  EACH p.v[u] = vfma(p.v[u], r.v[u], vset(0x1.fffffep+0f * c));
  EACH p.v[u] = vfma(vset(2 * c), r.v[u], p.v[u] * (r.v[u] * r.v[u]));
  EACH y.v[u] = (vf)((vi)n.v[u] << 23); // 2^n, n in [0, 27]
  EACH p.v[u] = vfma(y.v[u], p.v[u], vfma(y.v[u], vset(c), vset(-c)));
  EACH y.v[u] = p.v[u] / (p.v[u] + 2 * c);
  EACH y.v[u] = (vf)((vi)y.v[u] | ((vi)x.v[u] & (int32_t)0x80000000));
  return y;
}

// Exact GELU x*Phi(x) = max(x,0) - |x| Q(|x|), Q(a) = erfc(a/sqrt(2))/2 = exp(-a^2/2)/M(a).
// No cancellation: for x < 0 the first term is 0, for x > 0 the second at most 0.17.
//
// M is almost a straight line: M(a) = c a + K, c = sqrt(2 pi), K = 2 - a L(a) between 2 and 0. L, a ratio of
// polynomials on [0, 14.5] (error of M about 0.4), is at most a fifth of M, so its roundings count a fifth. The rounding errors of
// D = c a + K and g = a/D are computed and g corrected: (a - g D - g dD)/D, for which exp(-r/2)/D from the
// exponent bits is near enough (within 1/8).
//
// exp(-a^2/2) = 2^n exp(-r/2), r = a^2 + n 2 ln(2): the left tail is as sensitive to r as a^2 is large. The first part
// of 2 ln(2) has 16 bits, so its product with n is exact and so is a^2 - that product before its rounding.
VFN int vgelu_bad(vg x) { return vbad(x, 13); }
VFN vg vgelu(vg x, int safe) {
  const vf c = vset(0x1.40d932p+1f);
  vg a, n, k, r, p, q, d, g, e;
  EACH a.v[u] = vabs(x.v[u]);
  if (safe) EACH a.v[u] = vmin(vset(14.5f), a.v[u]); // Q(14.5) * 14.5 rounds to 0
  EACH p.v[u] = a.v[u] + 0x1.04fec6p+3f;
  EACH p.v[u] = vfma(p.v[u], a.v[u], vset(0x1.cfe20ap+4f));
  EACH p.v[u] = vfma(p.v[u], a.v[u], vset(0x1.7a4546p+5f));
  EACH q.v[u] = vfma(vset(0x1.00085ep-1f), a.v[u], vset(0x1.2cebbep+2f));
  EACH q.v[u] = vfma(q.v[u], a.v[u], vset(0x1.471f02p+4f));
  EACH q.v[u] = vfma(q.v[u], a.v[u], vset(0x1.7b3612p+5f));
  EACH q.v[u] = vfma(q.v[u], a.v[u], vset(0x1.9f4a66p+5f));
  EACH p.v[u] = p.v[u] / q.v[u];
  EACH n.v[u] = vfma(a.v[u] * -0x1.715476p-1f, a.v[u], vset(RIDGE_MAGIC));
  EACH k.v[u] = n.v[u] - RIDGE_MAGIC;
  EACH r.v[u] = vfma(a.v[u], a.v[u], k.v[u] * 0x1.62e4p+0f);
  EACH r.v[u] = vfma(k.v[u], vset(0x1.7f7d1cp-19f), r.v[u]);
  EACH k.v[u] = vfma(-a.v[u], p.v[u], vset(2)); // K
  EACH d.v[u] = vfma(c, a.v[u], k.v[u]);
  EACH g.v[u] = a.v[u] / d.v[u];
  q = vexp_poly(r, -0.5f);
  EACH e.v[u] = q.v[u] * r.v[u];
  EACH k.v[u] = k.v[u] - vfma(-c, a.v[u], d.v[u]); // dD
  EACH p.v[u] = vfma(-g.v[u], k.v[u], vfma(-g.v[u], d.v[u], a.v[u]));
  EACH d.v[u] = (vf)((vi)(e.v[u] + 1) - (vi)d.v[u] + 0x3f7a0000);
  EACH p.v[u] = vfma(e.v[u], g.v[u], p.v[u] * d.v[u]) + g.v[u];
  EACH p.v[u] = vmax(vset(-0.0f), x.v[u]) - vscale(p.v[u], n.v[u], safe); // -0 in the far left tail
  return p;
}

// The tanh form of GELU: x/2 (1 + tanh(v/2)) = x/(1 + exp(-v)), v = x (c + d x^2), c = 2 sqrt(2/pi), d = 0.044715 c, each in
// two floats (to 2^-46). In the left tail the result is as sensitive to v as v is large (up to 87). c + d x^2 rounds
// to w + low; c - w is exact because c's first part ends at 2^-19. v = n ln(2) + r: the first part of ln(2) has 16 bits,
// so its product with n is exact and so is x w - that product before its rounding. Between -5 and -9.9 1 + t would
// lose t = 2^n (see vlogistic): what it lost goes to r.
VFN int vgelu_tanh_bad(vg x) { return vbad(x, 9.9f); }
VFN vg vgelu_tanh(vg x, int safe) {
  const vg c = safe ? vclamp(x, -11, 9.9f) : x; // at -11 it rounds to -0
  const vf c0 = vset(0x1.98846p+0f), c1 = vset(-0x1.985794p-21f), d0 = vset(0x1.2444f2p-4f), d1 = vset(0x1.49b16ap-29f);
  vg w, low, n, k, r, t, q, y;
  EACH t.v[u] = c.v[u] * c.v[u];
  EACH r.v[u] = vfma(c.v[u], c.v[u], -t.v[u]);
  EACH w.v[u] = vfma(d0, t.v[u], c0);
  EACH low.v[u] = vfma(d0, t.v[u], c0 - w.v[u]) + c1;
  EACH low.v[u] = vfma(d0, r.v[u], vfma(d1, t.v[u], low.v[u]));
  EACH n.v[u] = vfma(c.v[u] * w.v[u], vset(0x1.715476p+0f), vset(RIDGE_MAGIC));
  EACH k.v[u] = n.v[u] - RIDGE_MAGIC;
  EACH r.v[u] = vfma(c.v[u], w.v[u], k.v[u] * -0x1.62e4p-1f);
  EACH t.v[u] = vscale(vset(1), n.v[u], safe);
  EACH w.v[u] = t.v[u] + 1;
  EACH r.v[u] = r.v[u] + vfma(c.v[u], low.v[u], vfma(k.v[u], vset(-0x1.7f7d1cp-20f), (w.v[u] - 1) - t.v[u]));
  q = vexp_poly(r, -1);
  EACH w.v[u] = vfma(q.v[u], r.v[u], w.v[u]);
  EACH y.v[u] = c.v[u] * t.v[u] / w.v[u];
  if (safe) {
    EACH y.v[u] = vselect(x.v[u] < -9.9f, vlogistic_tail(c.v[u], q.v[u], r.v[u], t.v[u], n.v[u]), y.v[u]);
    EACH y.v[u] = vselect(x.v[u] > 9.9f, x.v[u], y.v[u]);
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
  EACH p.v[u] = vfma(p.v[u], z.v[u] * r.v[u], r.v[u]); // z r does not wait for S
  EACH p.v[u] = vmost(p.v[u], 1); // near pi/2 the sum may round to the number above 1
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
  EACH h.v[u] = vfma(x.v[u], vset(0x1.45f306p-2f), vset(-0.5f)) + (RIDGE_MAGIC + 1); // n + 1 in the low bits
  EACH sign.v[u] = (vf)((vi)h.v[u] << 31);
  EACH h.v[u] = (h.v[u] - (RIDGE_MAGIC + 1)) + 0.5f;
  vg y = vsin_poly(vpi_reduce(x, h), sign);
  return safe ? vlibrary(x, y, cosf) : y;
}

#endif
