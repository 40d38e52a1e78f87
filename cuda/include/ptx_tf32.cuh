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
//
// big is what cvt.rna gives, by an addition and a mask: three instructions with the subtraction, where cvt.rna, which looks for what is not finite, is four (8.0, 9.0 and 12.0, disassembled: FSETP, IADD3, SEL, LOP3)
// and tf32_value one more unless ptxas sees that it masks twice. Infinity stays, and small is Inf - Inf, a NaN, as with cvt.rna. A NaN may leave a big that is none (0x7fffffff, that of arithmetic, gives -0), but small is then x - big, a NaN: one of the
// three products has it.
//
// To cut big off would be two instructions, but leaves a small of up to 2^-10 of x, of one sign. At K = 1 (calculated, all a and b of [1, 1 + 2^-10), of the product): both rounded 8.0 u, one cut off 16.0, both 27.9, and of random
// numbers of [1, 2) -1.2 and -4.3 u on average, which no K averages away, where rounding has 0.0. The bound of fp32 by three products of tf32 is 6 u·Σ|a||b| and 1 u of the result: of numbers as a
// verification draws them (at most 4.5 at K = 1, ridge_wgmma_3xtf32.cuh), which those chosen for their low bits exceed by 1 u at K = 1.
__device__ __forceinline__ void tf32_split(float x, unsigned &big, unsigned &small) {
  big = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
  small = __float_as_uint(x - __uint_as_float(big));
}

#endif
