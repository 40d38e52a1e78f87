// The bodies of swiglu_DTYPE_sm90.cu: Y[M,N] = silu(X[M,K]·G[N,K]ᵀ) ∘ (X[M,K]·U[N,K]ᵀ) on Hopper's tensor cores, row-major; K is a multiple of 16 bytes (swiglu.go asks).
// FLOP: 4·M·N·K + 6·M·N. Bytes: X and both weights once, Y once.
//
// The tiles and loops of ridge_wgmma_tile.cuh: half of a tile's columns are of the gate and half the same of up, by two maps into one stage, so that wgmma gives a thread both sums of an
// element. Counts of a stage as there: 128 × 256 (128 columns of Y) 1024 cycles of the tensor cores, 128 × 128 (_narrow, and 3×TF32) 512 and 1536.
// The end of a tile, disassembled: silu and the product 32 instructions an element (a division and an exponential), 64 elements a thread (narrow 32): 4100 slots of a scheduler, 0.25 of the stages'
// cycles at K = 1024 and 0.06 at 4096; of 16 bits Y leaves under the next tile's wgmma. 168 registers, no spill.
// Predicted on an H200 of the tensor cores' roof at the clock held: bf16 4096 × 14336 × 4096 (3584 tiles in 27.2 rounds of 132: 0.97) 0.66, as products of that size and 0.06 for the end, 1.6 to 1.9 times
// swiglu_bf16_sm80; 512 × 2816 × 1024 (176 narrow tiles, 2 rounds) 16 µs; fp32 at the large shape 0.6 of a third of tf32's, 1.5 times swiglu_fp32_sm80_3xtf32. not yet measured.
//
// Versions: 1 as described. Next: silu by ex2 and rcp (some 10 instructions an element); clusters.
#ifndef RIDGE_SWIGLU_WGMMA_TILE_CUH
#define RIDGE_SWIGLU_WGMMA_TILE_CUH

#include "ridge_act.cuh"
#include "ridge_epilogue.cuh"
#include "ridge_tile_place.cuh"
#include "ridge_wgmma_tile.cuh"

// COLS of a tile are OUT of the gate and behind them the same of up, so that a thread has both sums of an element OUT / 2 registers apart.
template <class P, class TE, int COLS> struct GatedTile : WgmmaTile<P, true, COLS> {
  typedef WgmmaTile<P, true, COLS> T;
  typedef typename T::loop loop;
  static constexpr int OUT = COLS / 2, WORDS = OUT / 2 * (int)sizeof(TE) / 4; // of a thread
  static constexpr int LINE = OUT * (int)sizeof(TE), CHUNKS = LINE / 16;      // bytes of a row of Y
  static_assert(16 * LINE <= T::STAGING && CHUNKS % 8 == 0, "a warp's rows have room, swizzled by eight chunks");

  static __device__ __forceinline__ void produce(int64_t tiles, int64_t down, int64_t across, int steps, shared_at stages, shared_at full, shared_at empty, const ridge_tensor_map &a,
                                                 const ridge_tensor_map &gate, const ridge_tensor_map &up) {
    tma_prefetch(a);
    tma_prefetch(gate);
    tma_prefetch(up);
    int slot = 0;
    unsigned phase = 0;
    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      const TilePlace at = tile_place(t, down, across);
      const int row = (int)at.row * T::ROWS, column = (int)at.column * OUT;
      for (int s = 0; s < steps; s++) {
        const shared_at to = stages + slot * T::STAGE, bar = full + 8 * slot;
        mbarrier_wait(empty + 8 * slot, phase ^ 1);
        mbarrier_expect(bar, T::A_BYTES + T::B_BYTES);
        tma_load(to, a, bar, s * T::STEP, row, 0);
        tma_load(to + T::A_BYTES, gate, bar, s * T::STEP, column, 0);
        tma_load(to + T::A_BYTES + T::B_BYTES / 2, up, bar, s * T::STEP, column, 0);
        if (++slot == T::STAGES) slot = 0, phase ^= 1;
      }
    }
  }

  // The warp's 16 rows of Y go through shared memory, so that they leave in pieces of 128 bytes and more. What a store of 4 or 8 bytes has of a row, 16 or
  // 32, is XORed with the row: no bank conflict, nor of the reads.
  static __device__ __forceinline__ shared_at place(shared_at mine, int row, int byte) { return mine + row * LINE + (byte ^ (sizeof(TE) == 4 ? row % 4 * 32 : row % 8 * 16)); }
  static __device__ __forceinline__ void put(const float (&acc)[COLS / 2], shared_at mine) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < OUT / 2; i += 2) {
      const float first = silu(acc[i]) * acc[OUT / 2 + i], second = silu(acc[i + 1]) * acc[OUT / 2 + i + 1];
      const shared_at to = place(mine, lane / 4 + i / 2 % 2 * 8, (i / 4 * 8 + lane % 4 * 2) * (int)sizeof(TE));
      if constexpr (sizeof(TE) == 4)
        store_shared(to, __float_as_uint(first), __float_as_uint(second));
      else
        store_shared(to, Pair<TE>::of(first, second));
    }
    __syncwarp();
  }
  // To `to` on, rows of `pitch` of which `down` and `across` exist; packed: 16 bytes at a time exist or not, and begin at multiples of 16.
  static __device__ __forceinline__ void leave(shared_at mine, TE *to, int64_t pitch, int64_t down, int64_t across, bool packed) {
    constexpr int N = 16 / sizeof(TE);
    const int lane = threadIdx.x % 32, chunk = lane % CHUNKS;
#pragma unroll 1
    for (int row = lane / CHUNKS; row < 16; row += 32 / CHUNKS) {
      unsigned w[4];
      load_shared(w, place(mine, row, chunk * 16));
      if (row >= down || chunk * N >= across) continue;
      TE *p = to + row * pitch + chunk * N;
      if (packed) {
        store_pack((pack<unsigned> *)p, pack<unsigned>{{w[0], w[1], w[2], w[3]}});
        continue;
      }
#pragma unroll
      for (int e = 0; e < N; e++) {
        if (chunk * N + e >= across) continue;
        if constexpr (sizeof(TE) == 4)
          p[e] = __uint_as_float(w[e]);
        else
          p[e].bits = (unsigned short)(w[e / 2] >> e % 2 * 16);
      }
    }
    __syncwarp();
  }

  // a, gate and up are maps of [row][k] with boxes of (STEP, ROWS, 1) and (STEP, OUT, 1). k > 0.
  static __device__ __forceinline__ void product(int64_t m, int64_t n, int64_t k, const ridge_tensor_map &a, const ridge_tensor_map &gate, const ridge_tensor_map &up, TE *c) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [loop::BARRIERS * T::STAGES]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * T::STAGES;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0), steps = (int)((k + T::STEP - 1) / T::STEP);
    const int64_t down = (m + T::ROWS - 1) / T::ROWS, across = (n + OUT - 1) / OUT, tiles = down * across;
    if (tid == 0) {
      for (int s = 0; s < T::STAGES; s++) {
        mbarrier_init(full + 8 * s, 1);
        mbarrier_init(empty + 8 * s, 8);
        if constexpr (loop::BARRIERS > 2) mbarrier_init(full + 16 * T::STAGES + 8 * s, loop::HELPERS);
      }
      mbarrier_init_fence();
    }
    __syncthreads();
    if (group == 0) {
      registers_fewer<40>();
      if (tid == 0) produce(tiles, down, across, steps, stages, full, empty, a, gate, up);
      if constexpr (loop::BARRIERS > 2) {
        if (tid >= 128 - 32 * loop::HELPERS) {
          WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
          for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) loop::template help<T>(at, steps);
        }
      }
      return;
    }
    registers_more<232>();
    const int warp = tid / 32 - 4;
    WgmmaRing ring = {stages, full, empty, wgmma_operand(stages + (group - 1) * 8192, 16, 1024), wgmma_operand(stages + T::A_BYTES, 16, 1024), 0, 0};
    const shared_at mine = stages + T::STAGES * T::STAGE + warp * T::STAGING;
    const bool packed = (uintptr_t)c % 16 == 0 && n % (16 / sizeof(TE)) == 0;
    TE *to = nullptr; // of the last tile: where the loop can, it leaves under the next one's wgmma
    int64_t rows = 0, columns = 0;
    const auto later = [&] {
      if (to) leave(mine, to, n, rows, columns, packed);
      to = nullptr;
    };
    for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      float acc[COLS / 2];
      if constexpr (loop::LATER)
        loop::template sums<T>(acc, ring, steps, later);
      else
        loop::template sums<T>(acc, ring, steps);
      const TilePlace at = tile_place(t, down, across);
      const int64_t row0 = at.row * T::ROWS + 16 * warp, column0 = at.column * OUT;
      put(acc, mine);
      to = c + row0 * n + column0, rows = m - row0, columns = n - column0;
      if constexpr (!loop::LATER) later();
    }
    later();
  }
};

// P and the columns of a tile, of gate and up together.
#define RIDGE_SWIGLU_WGMMA(entry, P, TE, COLS)                                                                                      \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)                                                                                          \
  (RIDGE_TENSOR_MAP(a), RIDGE_TENSOR_MAP(gate), RIDGE_TENSOR_MAP(up), int64_t m, int64_t n, int64_t k, TE *c) {                     \
    GatedTile<P, TE, COLS>::product(m, n, k, a, gate, up, c);                                                                       \
  }                                                                                                                                 \
  RIDGE_ENTRY(entry)

#endif
