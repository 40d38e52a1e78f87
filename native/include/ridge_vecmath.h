// exp, tanh, sigmoid, SiLU, GELU, sin and cos over the vectors of ridge_vec.h, in fp32.
//
// Polynomials are minimax in relative error (Lawson-weighted least squares on 2,000
// Chebyshev nodes, evaluated with 50 digits; each coefficient rounded to fp32 before the
// next was fitted). The error of each fit is given in units of 2^-24. Every function was
// compared with float64 by native/elementwise's tests; the limits stand there.
// NaN gives NaN; infinities give the function's limits unless said otherwise.
#ifndef RIDGE_VECMATH_H
#define RIDGE_VECMATH_H

#include <math.h>

#include "ridge_vec.h"

// Adding 1.5 * 2^23 rounds |x| < 2^22 to a whole number, which is left in the low bits.
#define RIDGE_MAGIC 0x1.8p23f

// exp(r) = 1 + r + r^2 P(r), |r| <= ln(2)/2; the fit's error is 0.05. Returns r + r^2 P(r).
VFN vf vexp_poly(vf r) {
  vf p = vset(0x1.6a4b36p-10f);
  p = vfma(p, r, vset(0x1.12398ep-7f));
  p = vfma(p, r, vset(0x1.5558b2p-5f));
  p = vfma(p, r, vset(0x1.555492p-3f));
  p = vfma(p, r, vset(0x1.fffffcp-2f));
  return vfma(p * r, r, r);
}

// x = n ln(2) + r, |r| <= ln(2)/2; n comes as n + RIDGE_MAGIC. ln(2) = 0x1.62e43p-1 -
// 0x1.05c61p-29 - ...
VFN vf vexp_reduce(vf x, vf *n_magic) {
  vf t = vfma(x, vset(0x1.715476p+0f), vset(RIDGE_MAGIC));
  vf n = t - RIDGE_MAGIC;
  *n_magic = t;
  return vfma(n, vset(0x1.05c61p-29f), vfma(n, vset(-0x1.62e43p-1f), x));
}

// p * 2^n for n in [-252, 254], in two steps so that denormal results are rounded once.
VFN vf vscale(vf p, vf n_magic) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)_mm512_scalef_ps((__m512)p, (__m512)(n_magic - RIDGE_MAGIC));
#else
  vi n = (vi)n_magic - 0x4b400000;
  vi half = n >> 1;
  vf a = (vf)((half + 127) << 23), b = (vf)((n - half + 127) << 23);
  return p * a * b;
#endif
}

// exp(x) for x <= 89; below -104 the result is 0 (half the smallest denormal is exp(-103.97)).
VFN vf vexp_low(vf x) {
  vf n, r = vexp_reduce(vmax(vset(-104), x), &n); // operand order: a NaN x survives
  return vscale(vexp_poly(r) + 1, n);
}

// exp(x). From 88.72284 on infinity.
VFN vf vexp(vf x) { return vexp_low(vmin(vset(89), x)); }

// 1/(1+exp(-x)), with relative accuracy for negative x too: e = exp(-|x|) never overflows.
VFN vf vsigmoid(vf x) {
  vf e = vexp_low(-vabs(x));
  return vselect((vi)x < 0, e, vset(1)) / (e + 1);
}

// x * sigmoid(x); -inf gives NaN (inf * 0).
VFN vf vsilu(vf x) {
  vf e = vexp_low(-vabs(x));
  return x * vselect((vi)x < 0, e, vset(1)) / (e + 1);
}

// tanh(x) = m/(m+2), m = expm1(2|x|), computed with relative accuracy for small x:
// m = 2^n * expm1(r) + (2^n - 1). The polynomial's relative error as expm1 is 0.23. Beyond
// 9.1 tanh rounds to 1 in fp32.
VFN vf vtanh(vf x) {
  vf n, a = vmin(vset(18.2f), vabs(x) * 2), r = vexp_reduce(a, &n);
  vf p = vset(0x1.6b9c66p-10f);
  p = vfma(p, r, vset(0x1.12254ap-7f));
  p = vfma(p, r, vset(0x1.5556f2p-5f));
  p = vfma(p, r, vset(0x1.5554b4p-3f));
  p = vfma(p, r, vset(0x1.fffffep-2f));
  p = vfma(p * r, r, r);
  vf s = (vf)(((vi)n - 0x4b400000 + 127) << 23); // 2^n, n in [0, 27]
  vf m = vfma(s, p, s - 1);
  vf t = m / (m + 2);
  return (vf)((vi)t | ((vi)x & (int32_t)0x80000000));
}

// Exact GELU x*Phi(x) = max(x,0) - |x| Q(|x|), Q(a) = erfc(a/sqrt(2))/2 = exp(-a^2/2) R(a).
// No cancellation: for x < 0 the first term is 0, for x > 0 the second at most 0.17. R is a
// ratio of polynomials with positive coefficients on [0, 14], error 0.36; Q(14) |x| is below
// the smallest normal number. Relative error for x < 0 grows as x^2/2 * 2^-24 (the rounding
// of a^2), as the condition number of the function does.
VFN vf vgelu(vf x) {
  vf a = vmin(vset(14), vabs(x));
  vf e = vexp_low(a * a * -0.5f);
  vf p = vset(0x1.0b3b8p-8f), q = vset(0x1.4eec06p-7f);
  p = vfma(p, a, vset(0x1.4abbd2p-5f));
  q = vfma(q, a, vset(0x1.9e8a84p-4f));
  p = vfma(p, a, vset(0x1.75aedcp-3f));
  q = vfma(q, a, vset(0x1.dea624p-2f));
  p = vfma(p, a, vset(0x1.bfbee6p-2f));
  q = vfma(q, a, vset(0x1.3304ep+0f));
  p = vfma(p, a, vset(0.5f));
  q = vfma(q, a, vset(0x1.ac21a4p+0f));
  q = vfma(q, a, vset(1));
  return vmax(vset(0), x) - a * e * (p / q);
}

// The tanh form of GELU: 0.5x(1+tanh(u)) = x*sigmoid(2u), u = sqrt(2/pi)(x + 0.044715x^3).
// -inf gives NaN (inf * 0).
VFN vf vgelu_tanh(vf x) {
  vf u2 = x * vfma(x * x, vset(2 * 0.79788456f * 0.044715f), vset(2 * 0.79788456f));
  vf e = vexp_low(-vabs(u2));
  return x * vselect((vi)x < 0, e, vset(1)) / (e + 1);
}

// Largest |x| that the three-part reduction by pi serves: n < 2^16 times the last part's
// error 2^-76 and the parts' roundings stay below 2^-24 of the result's absolute scale.
#define RIDGE_SIN_MAX 0x1p17f

// Lanes beyond RIDGE_SIN_MAX (and infinities, which give NaN) go to the C library.
static __attribute__((noinline, cold, unused)) void vsin_large(float *v) {
  for (int i = 0; i < VL; i++) v[i] = sinf(v[i]);
}
static __attribute__((noinline, cold, unused)) void vcos_large(float *v) {
  for (int i = 0; i < VL; i++) v[i] = cosf(v[i]);
}

// sin(r) = r + r^3 S(r^2), |r| <= pi/2, error 0.10; then the sign (-1)^n. The sum is taken as
// r + (r^3 S), so the rounding of r^3 S counts with its size, at most 0.57.
VFN vf vsin_poly(vf r, vi sign) {
  vf z = r * r;
  vf p = vset(0x1.5dc8c4p-19f);
  p = vfma(p, z, vset(-0x1.9f70eep-13f));
  p = vfma(p, z, vset(0x1.110edap-7f));
  p = vfma(p, z, vset(-0x1.55554cp-3f));
  return (vf)((vi)vfma(p * z, r, r) ^ sign);
}

// x - h*pi with pi = 0x1.921fb6p+1 - 0x1.777a5cp-24 - 0x1.ee59dap-49.
VFN vf vpi_reduce(vf x, vf h) {
  vf r = vfma(h, vset(-0x1.921fb6p+1f), x);
  r = vfma(h, vset(0x1.777a5cp-24f), r);
  return vfma(h, vset(0x1.ee59dap-49f), r);
}

VFN vf vsin(vf x) {
  if (__builtin_expect(vany(vabs(x) > RIDGE_SIN_MAX), 0)) {
    float lane[VL];
    vstore(lane, x);
    vsin_large(lane);
    return vload(lane);
  }
  vf t = vfma(x, vset(0x1.45f306p-2f), vset(RIDGE_MAGIC)); // n = round(x/pi)
  vf r = vpi_reduce(x, t - RIDGE_MAGIC);
  return vselect(x == 0, x, vsin_poly(r, (vi)t << 31)); // the multiply-adds lose the sign of -0
}

// cos(x) = sin(x + pi/2): with h = n + 1/2 nearest x/pi, cos(x) = -(-1)^n sin(x - h*pi).
VFN vf vcos(vf x) {
  if (__builtin_expect(vany(vabs(x) > RIDGE_SIN_MAX), 0)) {
    float lane[VL];
    vstore(lane, x);
    vcos_large(lane);
    return vload(lane);
  }
  vf t = vfma(x, vset(0x1.45f306p-2f), vset(-0.5f)) + RIDGE_MAGIC;
  vf h = (t - RIDGE_MAGIC) + 0.5f;
  return vsin_poly(vpi_reduce(x, h), ((vi)t << 31) ^ (int32_t)0x80000000);
}

#endif
