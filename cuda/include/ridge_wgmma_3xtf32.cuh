// fp32 for ridge_wgmma_tile.cuh, as three products of tf32 by wgmma: x = big + small (ptx_tf32.cuh), x·y = small·big + big·small + big·big; what is left
// out and why sums are rounded outside of the tensor cores: ridge_mma_tf32.cuh.
//
// A stage has 32 k: A as it is, B twice. TMA brings both as fp32. The three other warps of the producer's warpgroup make B's big part where it lies and
// its small one behind it: at the same places, so that the swizzle is kept and no order of elements matters. A warpgroup that multiplies takes its 64 rows of A through
// registers (four ldmatrix: a piece of 8 rows of 16 bytes is a fragment's 8 × 4), and splits them there. 12 wgmma of 8 k begin at 0: the small products of the whole
// stage, then the big ones, so that four steps alone cut a large sum off; the fp32 units add what they give. So calculated over 10⁴ to 8·10⁶ random elements, the error
// is at most 4.5 u·Σ|a||b| at K = 1, 3.1 at 32, 1.7 at 64 and 0.4 at 4096.
//
// Counts a stage with 128 × 128: 3 · 1.05 MFLOP, 1536 cycles of the tensor cores (2048 FLOP a cycle). Shared memory: TMA writes 32 KB, the splitting of B reads 16
// and writes 32, ldmatrix reads 16, wgmma reads B three times for either warpgroup, 96: 192 KB, 125 bytes a cycle of 128. With A in shared memory too it would
// be 48 more to read and 32 to write: 1.4 times what there is. L2: 21 bytes a cycle of 64. Issue, a scheduler: 190 slots to split B (11 pieces of 16 bytes a thread, 17 instructions each; 29 by cvt.rna), two
// warps of 192 (disassembled: 48 to split A, 64 additions, 80 others; 240 by cvt.rna): 570 of 1536. A warpgroup's wgmma take 768 cycles, its loads, splitting and additions some 300, under the other one's wgmma.
// Registers: 64 sums, 64 of the stage, 32 of A.
#ifndef RIDGE_WGMMA_3XTF32_CUH
#define RIDGE_WGMMA_3XTF32_CUH

#include "ptx_tf32.cuh"
#include "ptx_wgmma_registers.cuh"
#include "ridge_wgmma_tile.cuh"

struct Sums3xTf32 {
  static constexpr bool LATER = false;
  static constexpr int COPIES = 2, BARRIERS = 3, HELPERS = 3; // the third barrier: B is split; by so many warps
  template <class T> static __device__ __forceinline__ shared_at split(const WgmmaRing &at) { return at.full + 8 * (2 * T::STAGES + at.slot); }

  // Of the warps that split B.
  template <class T> static __device__ __forceinline__ void help(WgmmaRing &at, int steps) {
    constexpr int THREADS = 32 * HELPERS;
    const int first = (int)threadIdx.x - (128 - THREADS);
    for (int s = 0; s < steps; s++) {
      const shared_at b = at.stages + at.slot * T::STAGE + T::A_BYTES;
      mbarrier_wait(at.full + 8 * at.slot, at.phase);
#pragma unroll 2
      for (int i = first; i < T::B_BYTES / 16; i += THREADS) {
        unsigned big[4], small[4];
        load_shared(big, b + 16 * i);
#pragma unroll
        for (int e = 0; e < 4; e++) tf32_split(__uint_as_float(big[e]), big[e], small[e]);
        store_shared(b + 16 * i, big);
        store_shared(b + T::B_BYTES + 16 * i, small);
      }
      proxy_fence();
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier_arrive(split<T>(at));
      at.next(T::STAGES);
    }
  }

  template <class T> static __device__ __forceinline__ void sums(float (&acc)[T::COLS / 2], WgmmaRing &at, int steps) {
    static_assert(T::COLS == 128, "a wgmma's");
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < 64; i++) acc[i] = 0;
    for (int s = 0; s < steps; s++) {
      const shared_at mine = at.stages + at.slot * T::STAGE + (threadIdx.x / 128 - 1) * 8192 + row * 128;
      unsigned big[4][4], small[4][4];
      mbarrier_wait(at.full + 8 * at.slot, at.phase);
#pragma unroll
      for (int k = 0; k < 4; k++) ldmatrix(big[k], mine + (((2 * k + lane / 16) ^ row % 8) << 4));
#pragma unroll
      for (int k = 0; k < 4; k++)
#pragma unroll
        for (int e = 0; e < 4; e++) tf32_split(__uint_as_float(big[k][e]), big[k][e], small[k][e]);
      const uint64_t big_b = at.b + at.slot * (T::STAGE >> 4), small_b = big_b + (T::B_BYTES >> 4);
      mbarrier_wait(split<T>(at), at.phase);
      float part[64];
      wgmma_fence();
      wgmma_registers_tf32<true>(part, small[0], big_b);
#pragma unroll
      for (int k = 1; k < 4; k++) wgmma_registers_tf32<false>(part, small[k], big_b + 2 * k);
#pragma unroll
      for (int k = 0; k < 4; k++) wgmma_registers_tf32<false>(part, big[k], small_b + 2 * k);
#pragma unroll
      for (int k = 0; k < 4; k++) wgmma_registers_tf32<false>(part, big[k], big_b + 2 * k);
      wgmma_commit();
      wgmma_done(part);
      T::release(at, at.slot);
#pragma unroll
      for (int i = 0; i < 64; i++) acc[i] += part[i];
      at.next(T::STAGES);
    }
  }
};

struct Hopper3xTf32 {
  typedef WgmmaTf32 along; // of its sums
  typedef Sums3xTf32 loop;
  static constexpr int SIZE = 4;
};

#endif
