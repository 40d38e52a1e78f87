// fp32 as tensor cores take it at tf32: 10 bits of fraction, rounded to nearest, ties away from 0. What the low 13 bits of a tf32 register hold
// is left open: tensor cores ignore them (and so cut an fp32 off that was not rounded), arithmetic must not see them.
#ifndef RIDGE_PTX_TF32_CUH
#define RIDGE_PTX_TF32_CUH

#include "ridge_cuda.cuh"

__device__ __forceinline__ unsigned tf32_of(float x) {
#if defined(RIDGE_MODEL)
  const unsigned u = __float_as_uint(x);
  return (u & 0x7f800000u) == 0x7f800000u ? u : ((u + 0x1000u) & 0xffffe000u) | 0x0a5bu; // as good as any low bits
#else
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
#endif
}

__device__ __forceinline__ float tf32_value(unsigned rounded) { return __uint_as_float(rounded & 0xffffe000u); }

// x = big + small, big at tf32. small is exact and has at most 12 significant bits, of which tensor cores cut the last one off: at most 2^-23 of x.
__device__ __forceinline__ void tf32_split(float x, unsigned &big, unsigned &small) {
  big = tf32_of(x);
  small = __float_as_uint(x - tf32_value(big));
}

#endif
