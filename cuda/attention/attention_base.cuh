// What the softmaxes on tensor cores share: weights are 2^(c·(score − base)), c = scale·log2 e, with a base that is the largest score until now.
//
// By one multiply-add and ex2 a weight, as c·score − c·base. c·base is rounded, the multiply-add's product is not: from a base of 2^20/c on exponents would be off by 2^-5
// and more, from 2^31/c on by more than an exponent holds, so that equal scores weighed 0 or infinity. Scores become differences there, which the products of ordinary inputs never see;
// kernels that memory or ex2 binds take differences always (rebase), an instruction more a weight.
//
// A row is the softmax of what it sees: NaN where a score that it sees is NaN or +infinity, or all are −infinity. fmaxf passes over a NaN, whose weight then is NaN.
#ifndef RIDGE_ATTENTION_BASE_CUH
#define RIDGE_ATTENTION_BASE_CUH

#include "ptx_ex2.cuh"

constexpr float NOTHING = -3.402823466e38f; // base of a query that has seen no key: the least finite score
constexpr float FAR = 0x1p20f, LOG2E = 1.44269504f;

// 2^(c·(from − to)): what is multiplied by it was summed with the base `from`.
__device__ __forceinline__ float rebase(float from, float to, float c) { return exp2_fast((from - to) * c); }

// c·base; where that is far from 0, each(f) has f take base off all scores, and 0 is what is left.
template <class F> __device__ __forceinline__ float offset_of(float base, float c, F each) {
  const float offset = base * c;
  if (fabsf(offset) <= FAR) return offset;
  each([base](float &score) { score -= base; });
  return 0;
}

#endif
