// The rate of ex2.approx.ftz.f32, of the special function units: see peak.cuh. Each result, 2^0, is added to a counter: an addition beside
// every ex2, for which there are eight times as many units (16 against 128 lanes a cycle and multiprocessor on 8.0 and 9.0).
#include "peak.cuh"

struct PeakEx2 {
  typedef float number;
  static constexpr int DEPTH = 1 << 20;
  static __device__ __forceinline__ number operand() { return 0; }
  static __device__ __forceinline__ number zero() { return 0; }
  static __device__ __forceinline__ int count(number x) { return (int)x; }
  static __device__ __forceinline__ void step(number &x, number exponent) {
#if defined(RIDGE_MODEL)
    x += exp2f(exponent);
#else
    float y;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(exponent));
    x += y;
#endif
  }
};

RIDGE_PEAK(peak_fp32_simt_ex2, PeakEx2)
