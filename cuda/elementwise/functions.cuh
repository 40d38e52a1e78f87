// Functions in as few instructions as the rounding to T allows.
//
// gelu(x) = x·Φ(x) without erfc, by which a matrix in the second-level cache took twice as long as by relu (1024 x 1024 on an H200: 4.8 and 2.4 µs, as graph nodes).
//
//   gelu(x) = max(x, 0) − q, q = |x|·Φ(−|x|) = t·exp(−t²/2)·R(t), t = |x|, R(t) = erfcx(t/√2)/2, Mills' ratio over √2π
//
// R falls from 1/2 like 1/t and has no exponential in it: R = r·P(r), r = 1/(1 + c·t). P is the polynomial of least relative error for t to 13.4, found by
// Lawson's weights on 2,000 Chebyshev points. Since q is at most half of a positive x, its relative error is not raised. From 13.2 on q is below 2^-126 and
// the maximum is the result, so t ends there.
//
//   fp32   c = 0.35, P of degree 8: 3.2e-8; t² and log2 e in two words, so that exp errs by as little at its end: 28 instructions, two of them of the special
//          function unit
//   bf16   c = 0.3, P of degree 3: 2.3e-4, a tenth of what rounding to bf16 changes at most; 15 instructions
//
// As prototypes 2.5 us in fp32 and 2.0 in bf16, with erfc 3.4 and 3.4, relu 2.1 and 1.7, torch's gelu 2.7 and 2.6. Here 2.6 and 2.2; sigmoid and silu at bf16
// 2.1, by expf and a division 3.1 and 3.2.
//
// sigmoid at bf16: 1/(1 + 2^(−x·log2 e)) by two special instructions, with a relative error of |x|·2^-23; silu and gelu_tanh follow from it. At fp32 as in ridge_act.cuh.
#ifndef RIDGE_FUNCTIONS_CUH
#define RIDGE_FUNCTIONS_CUH

#include "ptx_ex2.cuh"
#include "ptx_rcp.cuh"
#include "ridge_act.cuh"

constexpr float GELU_END = 13.2f;

// NaN stays NaN.
__device__ __forceinline__ float positive_part(float x) { return x < 0 ? 0.0f : x; }

template <class T> __device__ __forceinline__ float gelu_of(float x) {
  const float t = fminf(fabsf(x), GELU_END), s = t * t;
  constexpr double HALF_LOG2E = 0.72134752044448170368; // 1/(2 ln 2)
  constexpr float HIGH = (float)-HALF_LOG2E, LOW = (float)(-HALF_LOG2E - HIGH);
  const float rest = fmaf(t, t, -s);                                              // t² is s + rest
  const float shifted = fmaf(s, HIGH, 12582912.0f), whole = shifted - 12582912.0f; // 1.5·2^23: the whole part lies in the low bits
  const float part = fmaf(rest, HIGH, fmaf(s, LOW, fmaf(s, HIGH, -whole)));
  const float e = __uint_as_float(__float_as_uint(exp2_fast(part)) + (__float_as_uint(shifted) << 23));
  const float r = reciprocal_fast(fmaf(t, 0.35f, 1.0f));
  float p = fmaf(-0.0291207683f, r, 0.143846931f);
  p = fmaf(p, r, -0.255451124f);
  p = fmaf(p, r, 0.158866763f);
  p = fmaf(p, r, -0.0228929426f);
  p = fmaf(p, r, 0.105413677f);
  p = fmaf(p, r, 0.119857473f);
  p = fmaf(p, r, 0.139858363f);
  p = fmaf(p, r, 0.139621613f);
  return fmaf(-t * r, p * e, positive_part(x));
}

template <> __device__ __forceinline__ float gelu_of<ridge_bf16>(float x) {
  const float t = fminf(fabsf(x), GELU_END), e = exp2_fast(t * t * -0.721347520f), r = reciprocal_fast(fmaf(t, 0.3f, 1.0f));
  const float p = fmaf(fmaf(fmaf(0.208845612f, r, 0.0355861795f), r, 0.137479039f), r, 0.118204246f);
  return fmaf(-t * r, p * e, positive_part(x));
}

template <class T> __device__ __forceinline__ float sigmoid_of(float x) { return sigmoid(x); }
template <> __device__ __forceinline__ float sigmoid_of<ridge_bf16>(float x) { return reciprocal_fast(1.0f + exp2_fast(-1.44269504f * x)); }

template <class T> __device__ __forceinline__ float silu_of(float x) { return silu(x); }
template <> __device__ __forceinline__ float silu_of<ridge_bf16>(float x) { return x * sigmoid_of<ridge_bf16>(x); }

template <class T> __device__ __forceinline__ float gelu_tanh_of(float x) { return gelu_tanh(x); }
template <> __device__ __forceinline__ float gelu_tanh_of<ridge_bf16>(float x) {
  return x * sigmoid_of<ridge_bf16>(1.5957691216057308f * (x + 0.044715f * x * x * x));
}

#endif
