// The rate of ex2.approx.ftz.f32, of the special function units: see peak.cuh. Each result, 2^0, is added to a counter, and the next exponent is
// it less 1: two additions beside every ex2, for which there are eight times as many units (16 against 128 lanes a cycle and multiprocessor on 8.0
// and 9.0). The exponents depend on the results since nothing else keeps ptxas from calculating 2^0 once for all. A chain takes some 30 cycles
// a step, a warp's ex2 8 of its scheduler's special function unit: 8 chains fill it.
// sass has peak_fp32_simt_ex2 sm_90a: 224 MUFU
#include "peak.cuh"

struct PeakEx2 {
  struct number {
    float sum, exponent;
  };
  static constexpr int DEPTH = 1 << 20;
  static __device__ __forceinline__ float operand() { return -1; }
  static __device__ __forceinline__ number zero() { return {0, 0}; }
  static __device__ __forceinline__ int count(number x) { return x.exponent == 0 ? (int)x.sum : -1; }
  static __device__ __forceinline__ void step(number &x, float less) {
    float y;
#if defined(RIDGE_MODEL)
    y = exp2f(x.exponent);
#else
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x.exponent));
#endif
    x.sum += y;
    x.exponent = y + less;
  }
};

RIDGE_PEAK(peak_fp32_simt_ex2, PeakEx2)
