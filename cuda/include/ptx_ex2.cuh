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

// 2^x for x < 128 on the pipes of multiplications and additions, eight instructions: x = n + f, n whole and f in [-1/2, 1/2]; 2^f is a polynomial, the best of
// degree 3 that is 1 at 0, with a relative error of 1.02e-4 (a twentieth of what rounding to bf16 changes at most); n is added to the exponent. 0 at -127 and below.
__device__ __forceinline__ float exp2_polynomial(float x) {
  x = fmaxf(x, -127.0f);
  const float shifted = x + 12582912.0f, f = x - (shifted - 12582912.0f); // 1.5·2^23: n lies in the low bits
  const float p = fmaf(fmaf(fmaf(0.0550089329f, f, 0.242210969f), f, 0.693282902f), f, 1.0f);
  return __uint_as_float(__float_as_uint(p) + (__float_as_uint(shifted) << 23));
}

#endif
