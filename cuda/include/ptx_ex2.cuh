// 2^x by one instruction of the special function unit: 2 ulp, results below 2^-126 are 0, 2^-infinity is 0.
#ifndef RIDGE_PTX_EX2_CUH
#define RIDGE_PTX_EX2_CUH

#include "ridge_cuda.cuh"

__device__ __forceinline__ float exp2_fast(float x) {
#if defined(RIDGE_MODEL)
  return x < -126 ? 0.0f : exp2f(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

#endif
