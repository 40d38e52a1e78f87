// 1/x by one instruction of the special function unit: 1 ulp; results below 2^-126 are 0, 1/0 is infinity.
#ifndef RIDGE_PTX_RCP_CUH
#define RIDGE_PTX_RCP_CUH

#include "ridge_cuda.cuh"

__device__ __forceinline__ float reciprocal_fast(float x) {
#if defined(RIDGE_MODEL)
  const float y = 1.0f / x;
  return fabsf(y) < 0x1p-126f ? 0.0f : y;
#else
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

#endif
