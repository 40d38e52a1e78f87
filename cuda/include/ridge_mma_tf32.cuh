// Operands of fp32 for the main loop of ridge_mma_tile.cuh: rounded to tf32, or split into two tf32 each, where fragments are used.
//
// Per warp and step of 32 bytes (8 k), beside the mma:
//   ProductTf32     64 × 32   16 mma, 24 cvt.rna (each number once; four instructions each)
//   Product3xTf32   64 × 32   48 mma, 24 numbers split: A's 16 by cvt.rna (five instructions), B's 8 by tf32_split (three): 104, and 64 additions
//
// 3×TF32: x·y = big·big + (big·small + small·big), where small·small, at most 2^-22 of it, is left out. A tensor core cuts sums off, which
// over K = 4096 costs 13 u·Σ|a||b| at one product and 46 at three (calculated), so each 8 k start at 0, the small products first, and are added to the
// sum by the fp32 units, which round. So calculated over 8·10^6 random elements the error is at most 4.4 u·Σ|a||b|, at K = 1; 1.5 from K = 64 on.
// Source of the idea: Markidis et al. 2018; Ootomo and Yokota 2022 (rounded sums outside of the tensor core).
#ifndef RIDGE_MMA_TF32_CUH
#define RIDGE_MMA_TF32_CUH

#include "ptx_tf32.cuh"
#include "ridge_mma_tile.cuh"

typedef Operands<MmaTf32, float, float, WordsAcross<4>> ProductCutOff; // fp32 as it lies, which tensor cores cut off

struct ProductTf32 : ProductCutOff {
  template <int RM, int RN>
  static __device__ __forceinline__ void multiply(float (&acc)[RM][RN][4], word (&a)[RM][4], word (&b)[RN / 2][2][2]) {
#pragma unroll
    for (int j = 0; j < RN; j++)
#pragma unroll
      for (int e = 0; e < 2; e++) b[j / 2][j % 2][e] = tf32_of(__uint_as_float(b[j / 2][j % 2][e]));
#pragma unroll
    for (int i = 0; i < RM; i++) {
#pragma unroll
      for (int e = 0; e < 4; e++) a[i][e] = tf32_of(__uint_as_float(a[i][e]));
#pragma unroll
      for (int j = 0; j < RN; j++) MmaTf32::mma(acc[i][j], a[i], b[j / 2][j % 2]);
    }
  }
};

struct Product3xTf32 : ProductCutOff {
  template <int RM, int RN>
  static __device__ __forceinline__ void multiply(float (&acc)[RM][RN][4], word (&a)[RM][4], word (&b)[RN / 2][2][2]) {
    unsigned a_small[RM][4];
#pragma unroll
    for (int i = 0; i < RM; i++)
#pragma unroll
      for (int e = 0; e < 4; e++) { // as tf32_split, by cvt.rna: with that alone, which takes no predicates, ptxas splits all at once, and kernels of 255 registers spill
        const float x = __uint_as_float(a[i][e]);
        a[i][e] = tf32_of(x), a_small[i][e] = __float_as_uint(x - tf32_value(a[i][e]));
      }
#pragma unroll
    for (int j = 0; j < RN; j++) {
      unsigned big[2], small[2];
#pragma unroll
      for (int e = 0; e < 2; e++) tf32_split(__uint_as_float(b[j / 2][j % 2][e]), big[e], small[e]);
#pragma unroll
      for (int i = 0; i < RM; i++) {
        float t[4];
        mma_tf32_first(t, a_small[i], big);
        MmaTf32::mma(t, a[i], small);
        MmaTf32::mma(t, a[i], big);
#pragma unroll
        for (int e = 0; e < 4; e++) acc[i][j][e] += t[e];
      }
    }
  }
};

#endif
