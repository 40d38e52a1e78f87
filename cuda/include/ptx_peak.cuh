// The instructions whose rate the peak probes measure, one each: x = x·1 + 1. volatile: none is dropped, repeated or moved out of a loop
// on the way to PTX; ptxas, which minds no volatile, has to calculate them since each needs the one before it and the 1 is no constant (peak.cuh).
#ifndef RIDGE_PTX_PEAK_CUH
#define RIDGE_PTX_PEAK_CUH

#include "ptx_dp4a.cuh"

// A counter. Proven counts are read by count; DEPTH is how many steps a counter holds exactly.
template <class T> struct PeakNumber {
  typedef T number;
  static constexpr int DEPTH = 1 << 20;
  static __device__ __forceinline__ number operand() { return 1; }
  static __device__ __forceinline__ number zero() { return 0; }
  static __device__ __forceinline__ int count(number x) { return (int)x; }
};

struct PeakFp64 : PeakNumber<double> {
  static __device__ __forceinline__ void step(number &x, number one) {
#if defined(RIDGE_MODEL)
    x = x * one + one;
#else
    asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(x) : "d"(one));
#endif
  }
};

struct PeakFp32 : PeakNumber<float> {
  static __device__ __forceinline__ void step(number &x, number one) {
#if defined(RIDGE_MODEL)
    x = x * one + one;
#else
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(one));
#endif
  }
};

// Two fp16 numbers in 32 bits; integers are exact to 2048. Both halves must agree.
struct PeakFp16 : PeakNumber<unsigned> {
  static constexpr int DEPTH = 1024;
  static __device__ __forceinline__ number operand() { return 0x3c003c00u; } // 1, 1
  static __device__ __forceinline__ int count(number x) {
    const ridge_fp16 lo = {(unsigned short)x}, hi = {(unsigned short)(x >> 16)};
    return load(lo) == load(hi) ? (int)load(lo) : -1;
  }
  static __device__ __forceinline__ void step(number &x, number one) {
#if defined(RIDGE_MODEL)
    const ridge_fp16 lo = {(unsigned short)x}, hi = {(unsigned short)(x >> 16)}, a = {(unsigned short)one}, b = {(unsigned short)(one >> 16)};
    x = element<ridge_fp16>::store(load(lo) * load(a) + load(a)).bits | (unsigned)element<ridge_fp16>::store(load(hi) * load(b) + load(b)).bits << 16;
#else
    asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(one));
#endif
  }
};

// One of the four products is 1·1.
struct PeakBytes : PeakNumber<int> {
  static __device__ __forceinline__ void step(number &x, number one) {
#if defined(RIDGE_MODEL)
    x = dp4a_s8((unsigned)one, (unsigned)one, x);
#else
    asm volatile("dp4a.s32.s32 %0, %1, %1, %0;" : "+r"(x) : "r"(one));
#endif
  }
};

#endif
