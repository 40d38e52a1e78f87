// The larger of two, NaN where one is NaN (8.0 and later); fmaxf gives the other one.
#ifndef RIDGE_PTX_MAX_CUH
#define RIDGE_PTX_MAX_CUH

#include "ridge_cuda.cuh"

__device__ __forceinline__ float max_or_nan(float a, float b) {
#if defined(RIDGE_MODEL)
  return a != a ? a : b != b ? b : fmaxf(a, b);
#else
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#endif
}

#endif
