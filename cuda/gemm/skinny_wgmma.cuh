// The bodies of gemm_DTYPE_sm90_skinny.cu: C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]) of up to 128 rows on Hopper's tensor cores, one product, operands and
// epilogues as gemm_wgmma.cuh. FLOP: 2·M·N·K, of 64 or 128 rows. Bytes: B once; A once a cluster, from L2.
//
// B's bytes bind. A block sums COLS columns. A thread orders tiles of 128 bytes of k by TMA into a ring that takes all of shared memory, most of it B: ROWS rows of A (M's next of 16, 32, 64,
// 128) and COLS columns of B a stage. splitk_wgmma.cuh, whose boxes of A have 128 rows whatever M is, took 50 µs for B of 8192² where the same tiles and parts with boxes of 16 rows
// took 35.5 (a prototype, with another loop too). One warpgroup for each 64 rows multiplies; below 64 it reads what lies behind A in the stage as further rows, whose sums nobody stores.
// The blocks of a cluster, two, have either neighbouring columns, of which each brings half of A to both (BLOCKS), or halves of k (PARTS), whose sums the first adds in their order
// after the second has put them into its shared memory: one launch either way, the same bits every time. Clusters of four find no place for 32 of them at once: two rounds, 48 µs for 35.
//
// B of more than L2: columns below `keep` are asked for as lines to keep, the others as lines to give up first, so that a launch that follows with the same B finds the former there.
// L2 fetches 128 bytes at once (256: 2 to 6 % slower).
//
// Measured on an H200 beside cuBLAS (CUDA 13.0), bf16, µs, B stored [K,N], [N,K], the library's in brackets, B the same in every launch:
//   version 1, whose epilogue was unrolled (16 copies of its code):
//     4096 with parts of k   M = 16 13.2, 13.1 (9.4, 9.6); 32 13.1, 13.0 (7.8, 7.9); 64 13.5, 13.4 (8.4, 9.7); 128 15.8, 15.5 (13.1, 12.8)
//     8192 with A shared     M = 1 33.7, 33.4 (33.0, 32.9); 16 34.6, 35.4 (31.7, 32.8); 32 34.6, 35.3 (32.1, 33.2); 64 36.4, 37.9 (33.2, 34.1); 128 43.2, 43.6 (36.4, 35.9), where
//                            parts of k and 128 columns took 52.0, 54.9 and splitk_wgmma.cuh 46.0, 46.1. Nothing kept: 2 to 6 % slower, and with two copies of B in turn 1 to 3 % faster
//     16384 with A shared    M = 1 125.7, 127.3 (118.2, 118.9); 64 134.9, 137.0 (120.3, 127.6); 1.5 to 2 % less from 16 rows on with nothing kept
//   prototypes of the loop with an epilogue of a few instructions, M = 16: 4096 with parts of k 8.0, 7.9 (10.0, 10.2); 8192, one block a cluster, 35.1, 35.7, columns kept 30.6, 31.8
//     (32.8, 32.8); with A shared, nothing kept, 32.4, 33.7; 1024 with parts of k 4.1, 4.1 (4.0, 4.1), where version 1 took 9.3, 9.3 (3.7, 3.8)
//
// Versions: 1; 2 the epilogue's code once, nothing kept of a B of more than four times L2: not yet measured. Next: tiles in turn by a block that stays, where they do not come out even (11008
// columns are 172 tiles: 34 µs at K = 4096 and M = 16 for 24.7).
#ifndef RIDGE_SKINNY_WGMMA_CUH
#define RIDGE_SKINNY_WGMMA_CUH

#include "ptx_cluster.cuh"
#include "ptx_wgmma.cuh"
#include "ridge_epilogue.cuh"

template <class WGMMA, class T, bool ALONG_> struct SkinnyOf {
  typedef WGMMA wgmma;
  typedef T type;
  static constexpr bool ALONG = ALONG_; // B is stored [N,K]
};

// ROWS: of A's box. BLOCKS and PARTS: of a cluster, of which one is 1.
template <class P, int ROWS, int COLS, int BLOCKS, int PARTS> struct SkinnyRing {
  typedef typename P::wgmma::sum sum;
  static constexpr bool ALONG = P::ALONG;
  static constexpr int SIZE = sizeof(typename P::type), STEP = 128 / SIZE, GROUPS = ROWS > 64 ? 2 : 1, MULTIPLY = 128 * GROUPS, THREADS = MULTIPLY + 32; // k of a stage
  static constexpr int A_BYTES = ROWS * 128, B_BYTES = COLS * 128, STAGE = A_BYTES + B_BYTES, STAGES = 204800 / STAGE;
  static_assert(STAGE >= 8192 && ROWS % (8 * BLOCKS) == 0, "a warpgroup reads 64 rows of a stage; shares of A are whole groups of rows");
  static_assert(BLOCKS == 1 || PARTS == 1, "a cluster shares A or k");

  static __device__ __forceinline__ void produce(int first, int steps, unsigned rank, int column, uint64_t policy, shared_at stages, shared_at full, shared_at empty,
                                                 const ridge_tensor_map &a, const ridge_tensor_map &b) {
    constexpr int SHARE = ROWS / BLOCKS;
    int slot = 0;
    unsigned phase = 0;
    for (int s = first; s < first + steps; s++) {
      const shared_at to = stages + slot * STAGE, bar = full + 8 * slot;
      mbarrier_wait(empty + 8 * slot, phase ^ 1);
      mbarrier_expect(bar, STAGE);
      if constexpr (BLOCKS > 1)
        tma_load_multicast(to + rank * SHARE * 128, a, bar, s * STEP, (int)rank * SHARE, 0, (1 << BLOCKS) - 1);
      else
        tma_load(to, a, bar, s * STEP, 0, 0);
      if constexpr (ALONG) {
        tma_load_by(policy, to + A_BYTES, b, bar, s * STEP, column, 0);
      } else {
#pragma unroll
        for (int i = 0; i < COLS / 64; i++) tma_load_by(policy, to + A_BYTES + i * 8192, b, bar, column + 64 * i, s * STEP, 0);
      }
      if (++slot == STAGES) slot = 0, phase ^= 1;
    }
  }

  // The warp has waited for what reads a stage: every block that writes there is told.
  static __device__ __forceinline__ void release(shared_at told) {
    const int lane = threadIdx.x % 32;
    if constexpr (BLOCKS == 1) {
      if (lane == 0) mbarrier_arrive(told);
    } else {
      if (lane < BLOCKS) mbarrier_arrive_cluster(told);
    }
  }

  static __device__ __forceinline__ unsigned bits(float x) { return __float_as_uint(x); }
  static __device__ __forceinline__ unsigned bits(int x) { return (unsigned)x; }
  static __device__ __forceinline__ void add(float &x, unsigned other) { x += __uint_as_float(other); }
  static __device__ __forceinline__ void add(int &x, unsigned other) { x = (int)((unsigned)x + other); } // wraps

  // f(row, column, first, second) for two neighbours of a row, the second of which may lie beyond the end.
  template <class F>
  static __device__ __forceinline__ void product(int64_t m, int64_t n, int64_t depth, int64_t keep, const ridge_tensor_map &a, const ridge_tensor_map &b, F f) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [2 * STAGES]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * STAGES;
    const int tid = threadIdx.x, lane = tid % 32, warp = __shfl_sync(0xffffffffu, tid / 32, 0), all = (int)((depth + STEP - 1) / STEP);
    const unsigned rank = BLOCKS * PARTS > 1 ? cluster_rank() : 0;
    const int column0 = (int)(blockIdx.x / PARTS) * COLS, per = (all + PARTS - 1) / PARTS, first = PARTS > 1 ? (int)rank * per : 0, steps = max(0, min(per, all - first));
    if (tid == 0) {
      for (int s = 0; s < STAGES; s++) {
        mbarrier_init(full + 8 * s, 1);
        mbarrier_init(empty + 8 * s, 4 * GROUPS * BLOCKS);
      }
      mbarrier_init_fence();
    }
    if constexpr (BLOCKS * PARTS == 1) __syncthreads();
    if constexpr (BLOCKS * PARTS > 1) cluster_barrier();
    if (warp == 4 * GROUPS) {
      if (lane == 0) produce(first, steps, rank, column0, cache_policy(column0 < keep), stages, full, empty, a, b);
      __syncwarp();
      if constexpr (BLOCKS * PARTS > 1) cluster_barrier();
      if constexpr (PARTS > 1) cluster_barrier();
      return;
    }
    constexpr int NEXT_B = (ALONG ? 32 : 32 / SIZE * 128) >> 4; // of a step of 32 bytes of k
    const shared_at told = BLOCKS > 1 ? cluster_map(empty, lane % BLOCKS) : empty;
    const uint64_t at_a = wgmma_operand(stages + warp / 4 * 8192, 16, 1024), at_b = wgmma_operand(stages + A_BYTES, ALONG ? 16 : 8192, 1024);
    sum acc[COLS / 2];
#pragma unroll
    for (int i = 0; i < COLS / 2; i++) acc[i] = 0;
    int slot = 0, last = 0;
    unsigned phase = 0;
    for (int s = 0; s < steps; s++) {
      mbarrier_wait(full + 8 * slot, phase);
      wgmma_fence();
#pragma unroll
      for (int q = 0; q < 4; q++) P::wgmma::template mma<false>(acc, at_a + slot * (STAGE >> 4) + 2 * q, at_b + slot * (STAGE >> 4) + NEXT_B * q);
      wgmma_commit();
      if (s > 0) {
        wgmma_wait<1>();
        release(told + 8 * last);
      }
      last = slot;
      if (++slot == STAGES) slot = 0, phase ^= 1;
    }
    wgmma_done(acc);
    if constexpr (BLOCKS > 1) release(told + 8 * last);
    if constexpr (BLOCKS * PARTS > 1) cluster_barrier(); // nobody copies to another's stages or arrives there any more
    const bool rows = 16 * warp < m; // of the warp
    const shared_at sums = stages + 4 * tid;
    if constexpr (PARTS > 1) {
      if (rank > 0 && rows) {
        const shared_at to = cluster_map(sums, 0) + (rank - 1) * COLS / 2 * MULTIPLY * 4;
#pragma unroll
        for (int i = 0; i < COLS / 2; i++) store_shared_cluster(to + i * MULTIPLY * 4, bits(acc[i]));
      }
      cluster_barrier();
      if (rank > 0) return;
    }
    if (!rows) return;
    if constexpr (PARTS > 1) {
#pragma unroll
      for (int i = 0; i < COLS / 2 * (PARTS - 1); i++) {
        unsigned other;
        load_shared(other, sums + i * MULTIPLY * 4);
        add(acc[i % (COLS / 2)], other);
      }
    }
    // By way of shared memory, so that the code of f is there once: 16 copies of it took 3 to 5 µs to fetch.
#pragma unroll
    for (int i = 0; i < COLS / 2; i++) store_shared(sums + i * MULTIPLY * 4, bits(acc[i]));
#pragma unroll 1
    for (int i = 0; i < COLS / 2; i += 2) {
      const int64_t row = 16 * warp + lane / 4 + i / 2 % 2 * 8, column = column0 + 2 * (lane % 4) + i / 4 * 8;
      unsigned words[2];
      load_shared(words[0], sums + i * MULTIPLY * 4);
      load_shared(words[1], sums + (i + 1) * MULTIPLY * 4);
      sum first = 0, second = 0;
      add(first, words[0]);
      add(second, words[1]);
      if (row < m && column < n) f(row, column, first, second);
    }
  }
};

// The shape: P, rows of A's box, columns of a block, blocks of a cluster with columns of their own or with parts of k.
#define RIDGE_SKINNY_RING_FLOATS(entry, TE, ...)                                                                                           \
  RIDGE_KERNEL_ALONE(entry, (SkinnyRing<__VA_ARGS__>::THREADS))                                                                            \
  (RIDGE_TENSOR_MAP(a), RIDGE_TENSOR_MAP(b), int64_t m, int64_t n, int64_t k, int64_t keep, int64_t ldc, int64_t act, double alpha,        \
   double beta, const TE *d, const TE *bias, TE *c) {                                                                                      \
    const Epilogue<TE> e = {d, bias, (float)alpha, (float)beta, (int)act};                                                                 \
    const bool paired = (uintptr_t)c % (2 * sizeof(TE)) == 0 && ldc % 2 == 0;                                                              \
    SkinnyRing<__VA_ARGS__>::product(m, n, k, keep, a, b, [&](int64_t row, int64_t column, float x, float y) {                             \
      Run<TE, 2> out = {};                                                                                                                 \
      out.at[0] = element<TE>::store(e(x, row * n + column, column));                                                                      \
      if (column + 1 < n) out.at[1] = element<TE>::store(e(y, row * n + column + 1, column + 1));                                          \
      store_run(c + row * ldc + column, out, n - column, paired);                                                                          \
    });                                                                                                                                    \
  }                                                                                                                                        \
  RIDGE_ENTRY(entry)

// Each height with a part of k a block (N of few tiles), and with neighbouring columns.
#define RIDGE_SKINNY_RINGS(entry, TE, P)                                    \
  RIDGE_SKINNY_RING_FLOATS(entry##_parts_rows16, TE, P, 16, 64, 1, 2)       \
  RIDGE_SKINNY_RING_FLOATS(entry##_parts_rows32, TE, P, 32, 64, 1, 2)       \
  RIDGE_SKINNY_RING_FLOATS(entry##_parts_rows64, TE, P, 64, 64, 1, 2)       \
  RIDGE_SKINNY_RING_FLOATS(entry##_parts_rows128, TE, P, 128, 64, 1, 2)     \
  RIDGE_SKINNY_RING_FLOATS(entry##_rows16, TE, P, 16, 64, 2, 1)             \
  RIDGE_SKINNY_RING_FLOATS(entry##_rows32, TE, P, 32, 64, 2, 1)             \
  RIDGE_SKINNY_RING_FLOATS(entry##_rows64, TE, P, 64, 64, 2, 1)             \
  RIDGE_SKINNY_RING_FLOATS(entry##_rows128, TE, P, 128, 64, 2, 1)

#endif
