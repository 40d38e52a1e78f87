// Functions in as few instructions as the rounding to T allows.
//
// gelu(x) = x·Φ(x) without erfc, by which a matrix in the second-level cache took twice as long as by relu (1024 x 1024 on an H200: 4.8 and 2.4 µs, as graph nodes).
//
//   gelu(x) = max(x, 0) − q, q = |x|·Φ(−|x|) = t·exp(−t²/2)·R(t), t = |x|, R(t) = erfcx(t/√2)/2, Mills' ratio over √2π
//
// R falls from 1/2 like 1/t and has no exponential in it: R = r·P(r), r = 1/(1 + c·t). P is the polynomial of least relative error for t to 13.4, found by
// Lawson's weights on 2,000 Chebyshev points. Since q is at most half of a positive x, its relative error is not raised. From 13.2 on q is below 2^-126 and
// the maximum is the result, so t ends there or, where exp is then 0, soon after.
//
//   fp32   c = 0.35, P of degree 8: 3.2e-8: ridge_act.cuh
//   bf16   c = 0.3, P of degree 3: 2.3e-4, a tenth of what rounding to bf16 changes at most; 15 instructions. Here the expectation allows q's relative error alone,
//          which gelu_short keeps for no x below −4 or so
//
// As prototypes 2.5 us in fp32 and 2.0 in bf16, with erfc 3.4 and 3.4, relu 2.1 and 1.7, torch's gelu 2.7 and 2.6. Here 2.6 and 2.2; sigmoid and silu at bf16
// 2.1, by expf and a division 3.1 and 3.2, which silu and gelu_tanh at fp32 have no more (not yet measured). sigmoid at fp32 has both still: special instructions alone would take
// 0.996 of what the expectation allows.
#ifndef RIDGE_FUNCTIONS_CUH
#define RIDGE_FUNCTIONS_CUH

#include "ridge_act.cuh"

template <class T> __device__ __forceinline__ float gelu_of(float x) { return gelu(x); }
template <> __device__ __forceinline__ float gelu_of<ridge_bf16>(float x) {
  const float t = fminf(fabsf(x), 14.0f), e = exp2_fast(t * t * -0.721347520f), r = reciprocal_fast(fmaf(t, 0.3f, 1.0f));
  const float p = fmaf(fmaf(fmaf(0.208845612f, r, 0.0355861795f), r, 0.137479039f), r, 0.118204246f);
  return fmaf(-t * r, p * e, max_or_nan(x, 0.0f));
}

template <class T> __device__ __forceinline__ float sigmoid_of(float x) { return 1.0f / (1.0f + expf(-x)); }
template <> __device__ __forceinline__ float sigmoid_of<ridge_bf16>(float x) { return sigmoid(x); }

#endif
