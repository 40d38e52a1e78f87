// The activations of ridge_act.cuh beside float64, as far as its header says that they hold: 192 threads have 2000 numbers each, of all exponents and in [−20, 20), and the infinities and NaN.
// y is 64 where all hold, −1 where one does not.
#include "ridge_act.cuh"

constexpr double UNIT = 0x1p-24, ROOT = 1.59576912160573071; // 2·√(2/π)

static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double cumulative(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

// |error| within u·(5·(|y| + |x·y'|) + |y|), y' with the sizes of its terms, as goharness/op allows at fp32; what lies below 2^-126 of x may be 0.
static bool allowed(float got, double x, double y, double slope) { return fabs(got - y) <= UNIT * (5 * (fabs(y) + fabs(x * slope)) + fabs(y)) + 0x1p-126 * fmax(1, fabs(x)); }

static bool right(float x) {
  const double v = x, s = logistic(v), p = cumulative(v), u = ROOT * (v + 0.044715 * v * v * v), t = logistic(u);
  const double gelu_slope = p + fabs(v) * exp(-v * v / 2) / sqrt(2 * M_PI), tanh_slope = t * (1 + fabs(v) * logistic(-u) * ROOT * (1 + 3 * 0.044715 * v * v));
  const double short_error = fabs(gelu_short(x) - v * p), q = fabs(v) * cumulative(-fabs(v));
  return allowed(sigmoid(x), v, s, s * logistic(-v)) && allowed(silu(x), v, v * s, s * (1 + fabs(v) * logistic(-v))) && allowed(gelu(x), v, v * p, gelu_slope) &&
         allowed(gelu_tanh(x), v, v * t, tanh_slope) && short_error <= 4.8e-7 * fabs(v) + 0x1p-126 && (v > 0 || v < -9 || short_error <= 2.1e-3 * q + 0x1p-126) &&
         (v > -9 || fabs(gelu_short(x)) < 1e-17);
}

RIDGE_KERNEL(activations_hold, 64)(const float *x, float *y, int64_t n) {
  const int i = (int)global_thread();
  const float infinity = __uint_as_float(0x7f800000u), nan = __uint_as_float(0x7fc00000u);
  (void)n;
  bool all = x[i] == 1;
  for (unsigned j = 0; j < 2000; j++) {
    const unsigned bits = (j + 2000u * (unsigned)i) * 2654435761u ^ 0x9e3779b9u;
    const float wide = __uint_as_float(bits), near = (float)(int)bits * 0x1p-31f * 20;
    if (fabsf(wide) < 1e18f) all = all && right(wide); // the expectations' cubes are finite
    all = all && right(near);
  }
  for (int act = ACT_RELU; act <= ACT_SILU; act++) {
    all = all && activate(act, infinity) == infinity && activate(act, -infinity) == 0 && activate(act, -3e38f) == 0 && activate(act, 3e38f) == 3e38f && activate(act, 0) == 0;
    const float narrow = activate_of<ridge_bf16>(act, nan), as_fp32 = activate(act, nan);
    all = all && (act == ACT_RELU || (narrow != narrow && as_fp32 != as_fp32));
    all = all && activate_of<ridge_bf16>(act, infinity) == infinity && activate_of<ridge_bf16>(act, -infinity) == 0 && activate_of<ridge_bf16>(act, -3e38f) == 0;
  }
  y[i] = all ? 64.0f : -1.0f;
}
RIDGE_ENTRY(activations_hold)
