// Activation functions in fp32, as op.Activate defines them, without a branch, in few instructions of which one or two are of the special function unit (`ex2` and
// `rcp`, 16 a cycle of a multiprocessor: 8 cycles of a scheduler each). By expf, erfcf and a division gelu took about 50, silu and gelu_tanh 25.
//
//   sigmoid    1/(1 + 2^(−x·log2 e))                                                              4, two of them special
//   silu       x·sigmoid(x)                                                                       6, two
//   gelu_tanh  x·sigmoid(2·√(2/π)·(x + 0.044715·x³))                                              8, two
//   gelu       max(x, 0) − q, q = t·Φ(−t), t = |x|, since x·Φ(x) + t·Φ(−t) is x or 0
//     short    Φ(−t) = 2^P(t), P of degree 7                                                     11, one
//     fp32     Φ(−t) = exp(−t²/2)·r·P(r), r = 1/(1 + 0.35·t), P of degree 8; exp by two words    28, two
//
// short serves results of 16 bits (activate_of<T>). Its P minimises the error of Φ where that is above 2e-3 of Φ's rounding there: |gelu − x·Φ(x)| is at most 4.8e-7·|x|, and q's relative
// error at most 4.5e-4 for t to 4, 2e-3 to 9 (rounding to bf16 changes 3.9e-3), from where q is below 1e-18. P falls for all t, so that q ends in 0. fp32: 3.2e-8 of q for t to 13.2, from where q is below 2^-126.
// sigmoid errs by at most 2.7e-7 + 6e-8·|x|·sigmoid(−x) of the result where that is above 2^-126, else it is 0; silu and gelu_tanh by at most 2.7e-7·|x|, 0.62 of what op allows `silu` and
// `gelu_tanh` at fp32. All with ex2 and rcp at the end of their documented errors (2 ulp and 1 ulp); found on ten million numbers, two thirds in [−20, 20], the rest of all exponents.
// At −infinity and where the sigmoid is 0 the result is −0 or 0, NaN stays NaN.
#ifndef RIDGE_ACT_CUH
#define RIDGE_ACT_CUH

#include "ptx_ex2.cuh"
#include "ptx_max.cuh"
#include "ptx_rcp.cuh"

enum { ACT_NONE, ACT_RELU, ACT_GELU, ACT_GELU_TANH, ACT_SILU }; // op.Activations

__device__ __forceinline__ float sigmoid(float x) { return reciprocal_fast(1.0f + exp2_fast(-1.44269504f * x)); }
__device__ __forceinline__ float relu(float x) { return fmaxf(x, 0.0f); }
// Below −90 the sigmoid is 0, and 0·infinity NaN.
__device__ __forceinline__ float silu(float x) {
  x = max_or_nan(x, -90.0f);
  return x * sigmoid(x);
}
// x·sigmoid(2u) is x/2·(1 + tanh u) without its cancellation. Below −16 the sigmoid is 0.
__device__ __forceinline__ float gelu_tanh(float x) {
  x = max_or_nan(x, -16.0f);
  return x * reciprocal_fast(1.0f + exp2_fast(x * fmaf(x * x, -0.102943242f, -2.30220819f)));
}

__device__ __forceinline__ float gelu(float x) {
  const float size = fabsf(x), t = fminf(size, 13.2f), s = t * t;
  constexpr double HALF_LOG2E = 0.72134752044448170368; // 1/(2 ln 2)
  constexpr float HIGH = (float)-HALF_LOG2E, LOW = (float)(-HALF_LOG2E - HIGH);
  const float rest = fmaf(t, t, -s);                                              // t² is s + rest
  const float shifted = fmaf(s, HIGH, 12582912.0f), whole = shifted - 12582912.0f; // 1.5·2^23: the whole part lies in the low bits
  const float part = fmaf(rest, HIGH, fmaf(s, LOW, fmaf(s, HIGH, -whole)));
  const float e = __uint_as_float(__float_as_uint(exp2_fast(part)) + (__float_as_uint(shifted) << 23));
  const float r = reciprocal_fast(fmaf(size, 0.35f, 1.0f)); // 0 at infinity: t·exp(…) ends above 0
  float p = fmaf(-0.0291207683f, r, 0.143846931f);
  p = fmaf(p, r, -0.255451124f);
  p = fmaf(p, r, 0.158866763f);
  p = fmaf(p, r, -0.0228929426f);
  p = fmaf(p, r, 0.105413677f);
  p = fmaf(p, r, 0.119857473f);
  p = fmaf(p, r, 0.139858363f);
  p = fmaf(p, r, 0.139621613f);
  return fmaf(-t * r, p * e, max_or_nan(x, 0.0f));
}
__device__ __forceinline__ float gelu_short(float x) {
  const float t = fminf(fabsf(x), 64.0f); // 2^P(64) is 0, and 0·infinity NaN
  float p = fmaf(-1.09047744e-06f, t, 4.60285046e-05f);
  p = fmaf(p, t, -0.000812184997f);
  p = fmaf(p, t, 0.00810505357f);
  p = fmaf(p, t, -0.0533224307f);
  p = fmaf(p, t, -0.458905399f);
  p = fmaf(p, t, -1.15114486f);
  p = fmaf(p, t, -0.999999166f);
  return fmaf(-t, exp2_fast(p), max_or_nan(x, 0.0f));
}

__device__ __forceinline__ float activate(int act, float x) {
  switch (act) {
    case ACT_RELU: return relu(x);
    case ACT_GELU: return gelu(x);
    case ACT_GELU_TANH: return gelu_tanh(x);
    case ACT_SILU: return silu(x);
  }
  return x;
}

// Of a result that is rounded to T.
template <class T> __device__ __forceinline__ float activate_of(int act, float x) {
  if (sizeof(T) <= 2 && act == ACT_GELU) return gelu_short(x);
  return activate(act, x);
}

#endif
