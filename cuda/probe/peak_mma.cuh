// The body of peak_DTYPE_sm80.cu: mma.sync at full rate from registers alone. A chunk of instructions is one warp's work and one element of
// result, which proves their number: A and B are all ones, so every mma adds K to every number of its tile of C.
//
// Each tile is a chain of dependent instructions: 8 of them, over 30 cycles of latency at most and one instruction in 8 to 16 cycles a
// scheduler, fill it from one warp on (fp64: 4 tiles of two instructions, from 9.0 on of one that takes twice as long; more make ptxas spill
// there). The tiles begin at different numbers, else the compiler could calculate one for all. Loop: 32 mma (fp64 8 or 16, of 16 cycles in all and
// more) and two instructions of its own. Operands are ones: registers toggle less than with random data, so that a device that is
// limited by its power shows a higher clock here. Sums of fp32 hold integers exactly to 2^24, 2^20 steps of K = 16.
// Predicted: 8.0 reaches its published rate; of that of 9.0 mma.sync gives about 60 %, and wgmma alone the rest (not yet measured).
#ifndef RIDGE_PEAK_MMA_CUH
#define RIDGE_PEAK_MMA_CUH

#include "ptx_mma.cuh"

// ones is a register full of ones; K the numbers that one step adds up; MMAS the instructions, as op.PeakRow counts them, of a step.
template <class M> struct Ones;
template <> struct Ones<MmaBf16> {
  static constexpr int K = 16, MMAS = 1;
  static __device__ __forceinline__ unsigned one() { return 0x3f803f80u; }
};
template <> struct Ones<MmaFp16> {
  static constexpr int K = 16, MMAS = 1;
  static __device__ __forceinline__ unsigned one() { return 0x3c003c00u; }
};
template <> struct Ones<MmaTf32> {
  static constexpr int K = 8, MMAS = 1;
  static __device__ __forceinline__ unsigned one() { return 0x3f800000u; }
};
template <> struct Ones<MmaBytes> {
  static constexpr int K = 32, MMAS = 1;
  static __device__ __forceinline__ unsigned one() { return 0x01010101u; }
};
template <> struct Ones<MmaUnsignedBytes> : Ones<MmaBytes> {};
template <> struct Ones<MmaFp64> {
  static constexpr int K = 4, MMAS = 2;
  static __device__ __forceinline__ double one() { return 1; }
};

template <class M> __device__ __forceinline__ void peak_mma(double *result, int64_t instructions, int64_t chunk) {
  constexpr int TILES = 8 / Ones<M>::MMAS, UNROLL = 4 / Ones<M>::MMAS;
  const int64_t chunks = (instructions + chunk - 1) / chunk;
  typename M::word a[M::A], b[M::B];
#pragma unroll
  for (int i = 0; i < M::A; i++) a[i] = Ones<M>::one();
#pragma unroll
  for (int i = 0; i < M::B; i++) b[i] = Ones<M>::one();
  for (int64_t c = global_thread() / 32; c < chunks; c += all_threads() / 32) {
    const int turns = (int)(min(chunk, instructions - c * chunk) / (TILES * UNROLL * Ones<M>::MMAS));
    typename M::sum x[TILES][4];
#pragma unroll
    for (int i = 0; i < TILES; i++)
#pragma unroll
      for (int k = 0; k < 4; k++) x[i][k] = (typename M::sum)i;
#pragma unroll 1
    for (int t = 0; t < turns; t++)
#pragma unroll
      for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int i = 0; i < TILES; i++) M::mma(x[i], a, b);
    int64_t proved = 0;
#pragma unroll
    for (int i = 0; i < TILES; i++) {
      int64_t least = (int64_t)x[i][0] - i;
#pragma unroll
      for (int k = 1; k < 4; k++) least = min(least, (int64_t)x[i][k] - i);
      proved += least / Ones<M>::K * Ones<M>::MMAS;
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) proved = min(proved, (int64_t)__shfl_xor_sync(0xffffffffu, proved, d));
    if (threadIdx.x % 32 == 0) result[c] = (double)proved;
  }
}

#define RIDGE_PEAK_MMA(entry, M)                                                                                               \
  RIDGE_KERNEL(entry, 256)(double *result, int64_t instructions, int64_t chunk) { peak_mma<M>(result, instructions, chunk); } \
  RIDGE_ENTRY(entry)

#endif
