// Activations on a row of accumulators (template: GEMM_TARGET, GEMM_NAME). Written without
// branches so that the compiler vectorises the loops.
//
// exp: 2^n * e^r with r in [-ln2/2, ln2/2], Taylor to r^7 (remainder < 6e-9). erf: Abramowitz
// and Stegun 7.1.26, absolute error 1.5e-7; GELU multiplies it by x/2, so the error is at
// most 1.3 u(fp32) * |x| plus rounding, inside the bound 4u * (1.13*magnitude + |x|).

// Below this the activations are less than 1e-36 in size, and at -infinity, where x times a
// factor of zero would be NaN, their limit is 0.
#ifndef GEMM_ACT_ZERO
#define GEMM_ACT_ZERO (-88.0f)
#endif

GEMM_INLINE float GEMM_F(expf)(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits.
  float shifted = x * 1.44269504f + 12582912.0f;
  float n = shifted - 12582912.0f;
  float r = x - n * 0.693359375f; // ln 2 in two parts: the first has 9 bits, the product is exact
  r = r - n * -2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * ridge_u32_as_float((ridge_float_as_u32(shifted) << 23) + 0x3f800000u);
}

// erf(z) for z >= 0.
GEMM_INLINE float GEMM_F(erff)(float z) {
  float t = 1.0f / (1.0f + 0.3275911f * z);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  return 1.0f - p * t * GEMM_F(expf)(-z * z);
}

GEMM_NOINLINE void GEMM_F(act_float)(float *v, int n, int act) {
  switch (act) {
    case RIDGE_ACT_RELU:
      for (int j = 0; j < n; j++) v[j] = v[j] > 0 ? v[j] : 0;
      break;
    case RIDGE_ACT_GELU: // x/2 * (1 + erf(x/sqrt 2)), odd part by |x|
      for (int j = 0; j < n; j++) {
        float x = v[j], a = x < 0 ? -x : x;
        float y = 0.5f * (x + a * GEMM_F(erff)(a * 0.70710678f));
        v[j] = x < GEMM_ACT_ZERO ? -0.0f : y;
      }
      break;
    case RIDGE_ACT_GELU_TANH: // x/2 * (1 + tanh u) = x / (1 + exp(-2u))
      for (int j = 0; j < n; j++) {
        float x = v[j], u = 0.79788456f * (x + 0.044715f * x * x * x);
        float y = x / (1.0f + GEMM_F(expf)(-2.0f * u));
        v[j] = x < GEMM_ACT_ZERO ? -0.0f : y;
      }
      break;
    case RIDGE_ACT_SILU:
      for (int j = 0; j < n; j++) {
        float x = v[j], y = x / (1.0f + GEMM_F(expf)(-x));
        v[j] = x < GEMM_ACT_ZERO ? -0.0f : y;
      }
      break;
  }
}
