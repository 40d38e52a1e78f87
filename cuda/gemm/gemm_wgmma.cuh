// The bodies of gemm_DTYPE_sm90.cu: C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]) on Hopper's tensor cores, operands, batches and epilogues
// as gemm_mma.cuh has them. Rows of A and B begin at multiples of 16 bytes, K > 0 (wgmma.go asks), C may lie anyhow.
//
// ridge_wgmma_tile.cuh has the loops. Entries: …_nn (B stored [K,N], 16 bits) and …_nt (B stored [N,K]), each with tiles of 128 × 256 (4 stages of
// 48 KB), the same in clusters (_cluster), and _narrow 128 × 128 (6 of 32 KB), which wgmma.go picks where narrow ones are done sooner. 3×TF32 has one, without clusters: its L2 traffic is 21
// bytes a cycle.
// Predicted of the roof at the clock held, 132 multiprocessors, bf16 and fp16:
//   4096³   512 tiles in 4 rounds of 132: 0.970; a tile 64 stages · 1024 and 3300 for its end: 0.952; wgmma back to back 0.95 to 0.98: 0.87 to 0.91
//   8192³   2048 tiles in 16 rounds: 0.970; 128 stages: 0.975: 0.90 to 0.93
// int8: the same cycles for twice the k, so that a tile of 4096³ has 32 stages: 0.83 to 0.87. What the power limit leaves of the clock comes on top. not yet
// measured.
//
// In clusters of two blocks that share B's tile by multicast: a block asks L2 for 16 KB of A and 16 of B a stage instead of 48, 31 bytes a cycle of 64 instead of 47. All reads of L2 by
// count: 4096³ 1.61 → 1.07 GB, 8192³ 12.9 → 8.6 GB; at 1.5 GHz and the full rate the 132 ask for 6.1 instead of 9.3 TB/s. 132 tiles at once are 16 rows of tiles and 8 columns (8 and
// 16 without), so that DRAM and L2 share more evenly too. Paid by one more arrival a warp and stage, and by two blocks that wait for the slower one's stage: of four, three are ahead.
// Predicted: 0.02 to 0.06 of the roof more, 0.89 to 0.95 at 4096³ and 0.92 to 0.96 at 8192³; more if L2's slices bind before its ports do. Nothing in one round of tiles, or below eight stages, where
// the end of a tile is a third of its time. not yet measured.
//
// Versions: 1 as described; 2 clusters. Next: a second set of sums or a third warpgroup, so that the end of a tile lies under the next one's wgmma; clusters of narrow
// tiles (64 → 48 bytes a cycle). For fewer tiles than multiprocessors there is splitk_wgmma.cuh.
#ifndef RIDGE_GEMM_WGMMA_CUH
#define RIDGE_GEMM_WGMMA_CUH

#include "ridge_epilogue.cuh"
#include "ridge_wgmma_tile.cuh"

// In clusters of BLOCKS (1: none).
#define RIDGE_WGMMA_FLOATS(entry, P, TE, ALONG, COLS, BLOCKS)                                                                             \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)                                                                                                \
  (RIDGE_TENSOR_MAP(a), RIDGE_TENSOR_MAP(b), int64_t m, int64_t n, int64_t k, int64_t batch, int64_t ldc, int64_t stride_c, int64_t act,   \
   double alpha, double beta, const TE *d, const TE *bias, TE *c) {                                                                       \
    wgmma_floats<WgmmaTile<P, ALONG, COLS, BLOCKS>, TE>(a, b, m, n, k, batch, ldc, stride_c, (int)act, (float)alpha, (float)beta, d, bias, c); \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

template <class T, class TE>
__device__ __forceinline__ void wgmma_floats(const ridge_tensor_map &a, const ridge_tensor_map &b, int64_t m, int64_t n, int64_t k, int64_t batch,
                                             int64_t ldc, int64_t stride_c, int act, float alpha, float beta, const TE *d, const TE *bias,
                                             TE *c) {
  constexpr int N = 16 / sizeof(TE);
  const Epilogue<TE> e = {d, bias, alpha, beta, act};
  const bool packed = (uintptr_t)c % 16 == 0 && ldc % N == 0 && e.packs(n);
  const bool plain = packed && !d && !bias && act == ACT_NONE && n % N == 0;
  T::products(m, n, k, batch, a, b, [&](int64_t z, int64_t row0, int64_t column0, const float(&acc)[T::COLS / 2], shared_at mine) {
    TE *to = c + z * stride_c + row0 * ldc + column0;
    if (plain) {
      T::rows(acc, mine, to, ldc, m - row0, n - column0, [&](float sum) { return alpha * sum; });
      return;
    }
    T::template each<N>(acc, mine, [&](int row, int column, const Run<float, N> &sums) {
      const int64_t left = n - column0 - column;
      if (row0 + row >= m || left <= 0) return;
      const Run<float, N> v = e.all(sums, (z * m + row0 + row) * n + column0 + column, column0 + column, left, packed);
      Run<TE, N> out;
#pragma unroll
      for (int i = 0; i < N; i++) out.at[i] = element<TE>::store(v.at[i]);
      store_run(to + row * ldc + column, out, left, packed);
    });
  });
}

#define RIDGE_WGMMA_BYTES(entry, P, COLS, BLOCKS)                                                                                         \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)                                                                                                \
  (RIDGE_TENSOR_MAP(a), RIDGE_TENSOR_MAP(b), int64_t m, int64_t n, int64_t k, int64_t batch, int64_t ldc, int64_t stride_c,               \
   const int32_t *bias, int32_t *c) {                                                                                                     \
    wgmma_bytes<WgmmaTile<P, true, COLS, BLOCKS>>(a, b, m, n, k, batch, ldc, stride_c, bias, c);                                          \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

template <class T>
__device__ __forceinline__ void wgmma_bytes(const ridge_tensor_map &a, const ridge_tensor_map &b, int64_t m, int64_t n, int64_t k, int64_t batch,
                                            int64_t ldc, int64_t stride_c, const int32_t *bias, int32_t *c) {
  constexpr int N = 4;
  const bool packed = ((uintptr_t)c | (uintptr_t)bias) % 16 == 0 && ldc % N == 0;
  T::products(m, n, k, batch, a, b, [&](int64_t z, int64_t row0, int64_t column0, const int(&acc)[T::COLS / 2], shared_at mine) {
    int32_t *to = c + z * stride_c + row0 * ldc + column0;
    if (packed && !bias && n % N == 0) {
      T::rows(acc, mine, to, ldc, m - row0, n - column0, [](int sum) { return sum; });
      return;
    }
    T::template each<N>(acc, mine, [&](int row, int column, const Run<int, N> &sums) {
      const int64_t left = n - column0 - column;
      if (row0 + row >= m || left <= 0) return;
      Run<int32_t, N> out = sums;
      if (bias) {
        const Run<int32_t, N> x = run_of<N>(bias + column0 + column, left, packed);
#pragma unroll
        for (int i = 0; i < N; i++) out.at[i] = (int32_t)((unsigned)out.at[i] + (unsigned)x.at[i]);
      }
      store_run(to + row * ldc + column, out, left, packed);
    });
  });
}

#define RIDGE_WGMMA_REQUANT(entry, P, COLS, BLOCKS)                                                                                       \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)                                                                                                \
  (RIDGE_TENSOR_MAP(a), RIDGE_TENSOR_MAP(b), int64_t m, int64_t n, int64_t k, int64_t ldc, int64_t act, const int32_t *bias,              \
   const float *scale, int8_t *c) {                                                                                                       \
    wgmma_requantised<WgmmaTile<P, true, COLS, BLOCKS>>(a, b, m, n, k, ldc, act == ACT_RELU, bias, scale, c);                             \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

template <class T>
__device__ __forceinline__ void wgmma_requantised(const ridge_tensor_map &a, const ridge_tensor_map &b, int64_t m, int64_t n, int64_t k,
                                                  int64_t ldc, bool relu, const int32_t *bias, const float *scale, int8_t *c) {
  constexpr int N = 8;
  const bool packed = ((uintptr_t)bias | (uintptr_t)scale) % (4 * N) == 0 && (uintptr_t)c % N == 0 && ldc % N == 0;
  T::products(m, n, k, 1, a, b, [&](int64_t, int64_t row0, int64_t column0, const int(&acc)[T::COLS / 2], shared_at mine) {
    T::template each<N>(acc, mine, [&](int r, int j, const Run<int, N> &sums) {
      const int64_t row = row0 + r, column = column0 + j;
      if (row >= m || column >= n) return;
      const Run<float, N> factor = run_of<N>(scale + column, n - column, packed);
      Run<int32_t, N> shift = {};
      if (bias) shift = run_of<N>(bias + column, n - column, packed);
      Run<int8_t, N> out;
#pragma unroll
      for (int i = 0; i < N; i++) out.at[i] = requantise((int32_t)((unsigned)sums.at[i] + (unsigned)shift.at[i]), factor.at[i], relu);
      store_run(c + row * ldc + column, out, n - column, packed);
    });
  });
}

#endif
