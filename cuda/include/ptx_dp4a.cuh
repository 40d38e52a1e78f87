// dp4a: the sum of four products of bytes and a 32-bit number, which wraps. One instruction for 8 operations.
#ifndef RIDGE_PTX_DP4A_CUH
#define RIDGE_PTX_DP4A_CUH

#include "ridge_cuda.cuh"

#if defined(RIDGE_MODEL)
template <class A> static inline int dp4a_bytes(unsigned a, unsigned b, int c) {
  for (int i = 0; i < 4; i++) c = (int)((unsigned)c + (unsigned)((int)(A)(a >> 8 * i) * (signed char)(b >> 8 * i)));
  return c;
}
#endif

// Bytes of a and b signed.
__device__ __forceinline__ int dp4a_s8(unsigned a, unsigned b, int c) {
#if defined(RIDGE_MODEL)
  return dp4a_bytes<signed char>(a, b, c);
#else
  int d;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
#endif
}

// Bytes of a unsigned, of b signed.
__device__ __forceinline__ int dp4a_u8s8(unsigned a, unsigned b, int c) {
#if defined(RIDGE_MODEL)
  return dp4a_bytes<unsigned char>(a, b, c);
#else
  int d;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
#endif
}

// Four bytes from p, stride apart, of which left are inside; 0 for the others.
__device__ __forceinline__ unsigned word_of(const unsigned char *p, int64_t stride, int64_t left, bool whole) {
  if (whole && left >= 4) return *(const unsigned *)p;
  unsigned w = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (i < left) w |= (unsigned)p[i * stride] << 8 * i;
  return w;
}

#endif
