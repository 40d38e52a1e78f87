// The body of peak_DTYPE_simt.cu: arithmetic instructions at full rate from registers alone. A chunk of instructions is one warp's work and
// one element of result, which proves their number: every instruction adds 1 to one of 8 counters of each lane. Numbers of
// instructions are multiples of 672 (op.PeakUnit), so of 8 × 28.
//
// Each counter is a chain of dependent instructions. With a latency of 4 cycles (fp64, dp4a: up to 8) and one instruction a scheduler and
// cycle at most, 8 chains fill it from one warp on; a full device has sixteen warps a scheduler. Loop: 224 instructions and three of its
// own, 1 %, which fp32 and fp16 lose, since they take every cycle of a scheduler. The multiplicands are 1: registers toggle less than with
// random data, so that a device that is limited by its power shows a higher clock here.
// With 32 instructions a turn an H200 had 58.7 of 66.9 TFLOP/s at fp32 and 1980 MHz, 0.877: the turns cost 4.5 slots. As
// prototypes, in one run: 60.8 with 32, 64.5 with 96, 65.6 with 224, 65.9 with 336 and 672.
#ifndef RIDGE_PEAK_CUH
#define RIDGE_PEAK_CUH

#include "ptx_peak.cuh"

template <class P> __device__ __forceinline__ void peak(double *result, int64_t instructions, int64_t chunk) {
  constexpr int CHAINS = 8, UNROLL = 28;
  const int64_t chunks = (instructions + chunk - 1) / chunk;
  for (int64_t c = global_thread() / 32; c < chunks; c += all_threads() / 32) {
    int64_t left = min(chunk, instructions - c * chunk) / (CHAINS * UNROLL), proved = 0;
    const auto one = chunk > 0 ? P::operand() : decltype(P::operand())(); // always the former: ptxas does not know that, and makes no x + 1 of it
    while (left > 0) {
      const int turns = (int)min(left, (int64_t)(P::DEPTH / UNROLL));
      typename P::number x[CHAINS];
#pragma unroll
      for (int i = 0; i < CHAINS; i++) x[i] = P::zero();
#pragma unroll 1
      for (int t = 0; t < turns; t++)
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
          for (int i = 0; i < CHAINS; i++) P::step(x[i], one);
#pragma unroll
      for (int i = 0; i < CHAINS; i++) proved += P::count(x[i]);
      left -= turns;
    }
    int64_t least = proved; // of the warp's lanes
#pragma unroll
    for (int d = 16; d > 0; d /= 2) least = min(least, (int64_t)__shfl_xor_sync(0xffffffffu, least, d));
    if (threadIdx.x % 32 == 0) result[c] = (double)least;
  }
}

#define RIDGE_PEAK(entry, P)                                                                                          \
  RIDGE_KERNEL(entry, 256)(double *result, int64_t instructions, int64_t chunk) { peak<P>(result, instructions, chunk); } \
  RIDGE_ENTRY(entry)

#endif
