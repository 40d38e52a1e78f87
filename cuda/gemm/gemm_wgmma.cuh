// The bodies of gemm_DTYPE_sm90.cu: C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]) on Hopper's tensor cores, operands, batches and epilogues
// as gemm_mma.cuh has them. Rows of A and B begin at multiples of 16 bytes, K > 0 (wgmma.go asks), C may lie anyhow.
//
// ridge_wgmma_tile.cuh has the loops. Entries: …_nn (B stored [K,N], 16 bits) and …_nt (B stored [N,K]), each with tiles of 128 × 256 (4 stages of
// 48 KB), the same in clusters (_cluster), and _narrow 128 × 128 (6 of 32 KB), which wgmma.go picks where narrow ones are done sooner. 3×TF32 has one, without clusters: its L2 traffic is 21
// bytes a cycle.
// Of the wgmma's cycles at 4096³ (512 tiles in 4 rounds of 132: 0.970; a tile 64 stages of 1024): see the end of ridge_wgmma_tile.cuh's header for what is measured. Under random data the power limit
// (700 W) binds: the clock falls to 1.5 to 1.6 GHz in a long row of launches, and 1.9 GHz hold for a few milliseconds after a rest. cuBLASLt takes 286 000 cycles at 4096³ there (256 × 128, clusters of 2).
// Measured on an H200 beside cuBLASLt (PyTorch 2.11, CUDA 13.0), its time over this kernel's, version 4, in a long row of launches (1.5 to 1.6 GHz): bf16 NN 4096³ 0.986 (685 and 695 TFLOP/s), 8192³ 1.02 (694 and 680), NT 0.98
// and 1.01; tf32 NT 4096³ 1.01; int8 NT 4096³ 1.70 (1337 TOP/s; torch._int_mm has a kernel for 8.0 there). With rests between, the median of five rounds and their range: bf16 NN 4096³ 0.974 (0.949 to 0.986; version 2: 0.884), 8192³
// 0.986 (0.885 to 0.991; 0.967), NT 4096³ 0.948 (0.847 to 1.040), 8192³ 1.012; fp16 NN 4096³ 0.984 (0.888), NT 8192³ 0.979; int8 NT 1.66 and 1.72; tf32 NT 0.948. e4m3 in its own file. Rounds vary by the clock that the power limit leaves.
//
// In clusters of two blocks that share B's tile by multicast: a block asks L2 for 16 KB of A and 16 of B a stage instead of 48, 31 bytes a cycle of 64 instead of 47. All reads of L2 by
// count: 4096³ 1.61 → 1.07 GB, 8192³ 12.9 → 8.6 GB; at 1.5 GHz and the full rate the 132 ask for 6.1 instead of 9.3 TB/s. 132 tiles at once are 16 rows of tiles and 8 columns (8 and
// 16 without), so that DRAM and L2 share more evenly too. Paid by one more arrival a warp and stage, and by two blocks that wait for the slower one's stage: of four, three are ahead.
// Measured: no faster than without at 4096³ (685 and 685 TFLOP/s of bf16), 1.01 times at 8192³ (694 and 687), where 1.02 to 1.06 were predicted; at most 66 clusters run at once, which is all.
// Nothing in one round of tiles, or below eight stages, where the end of a tile weighs most.
//
// Versions: 1 as described; 2 clusters; 3 plain sums leave rounded (bf16 NN 4096³ 0.87 → 0.98 of cuBLASLt in a long row of launches); 4 (of 16 bits) half of them under the next tile's wgmma, with bias and ReLU in registers (0.986:
// hardly a gain). Next: stores by TMA (a prototype: 1.01 at 4096³ and 1.01 to 1.07 at 8192³); places of tiles in 32 bits, since 64-bit divisions stand between two tiles. A grid of only as many blocks as the rounds need (128 of 132) changed
// nothing beyond 0.6 %. For fewer tiles than multiprocessors there is splitk_wgmma.cuh.
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

// alpha·sum + bias[column], with ReLU, of the sums as they lie in registers; bias is that of the tile's first column, of which `across` exist, an even number.
template <int COLS, class TE> __device__ __forceinline__ void finish(float (&acc)[COLS / 2], float alpha, const TE *bias, int64_t across, bool relu) {
  if (alpha != 1.0f) {
#pragma unroll
    for (int i = 0; i < COLS / 2; i++) acc[i] *= alpha;
  }
  if (bias) {
#pragma unroll
    for (int j = 0; j < COLS / 8; j++) {
      const int column = 8 * j + threadIdx.x % 4 * 2;
      const Run<TE, 2> x = run_of<2>(bias + column, across - column, true);
#pragma unroll
      for (int e = 0; e < 4; e++) acc[4 * j + e] += load(x.at[e % 2]);
    }
  }
  if (relu) {
#pragma unroll
    for (int i = 0; i < COLS / 2; i++) acc[i] = fmaxf(acc[i], 0.0f);
  }
}

template <class T, class TE>
__device__ __forceinline__ void wgmma_floats(const ridge_tensor_map &a, const ridge_tensor_map &b, int64_t m, int64_t n, int64_t k, int64_t batch,
                                             int64_t ldc, int64_t stride_c, int act, float alpha, float beta, const TE *d, const TE *bias,
                                             TE *c) {
  constexpr int N = 16 / sizeof(TE);
  const Epilogue<TE> e = {d, bias, alpha, beta, act};
  const bool packed = (uintptr_t)c % 16 == 0 && ldc % N == 0 && e.packs(n);
  constexpr bool LATER = T::loop::LATER && sizeof(TE) == 2; // there are registers for it
  const bool plain = packed && !d && n % N == 0 && (LATER ? act == ACT_NONE || act == ACT_RELU : act == ACT_NONE && !bias);
  unsigned words[32]; // of the last tile's other columns: they leave under the next one's wgmma
  TE *place = nullptr;
  int down = 0, across = 0;
  const auto later = [&](shared_at mine) {
    if constexpr (LATER) {
      if (!place) return;
      T::leave(mine, place, ldc, down, across);
      if constexpr (T::COLS > 128) {
        T::put(words, mine);
        T::leave(mine, place + 128, ldc, down, across - 128);
      }
      place = nullptr;
    }
  };
  T::products(m, n, k, batch, a, b, [&](int64_t z, int64_t row0, int64_t column0, float(&acc)[T::COLS / 2], shared_at mine) {
    TE *to = c + z * stride_c + row0 * ldc + column0;
    if (plain) {
      if constexpr (LATER) {
        finish<T::COLS>(acc, alpha, bias ? bias + column0 : nullptr, n - column0, act == ACT_RELU);
        unsigned first[32];
#pragma unroll
        for (int i = 0; i < 32; i++) {
          first[i] = Pair<TE>::of(acc[2 * i], acc[2 * i + 1]);
          if constexpr (T::COLS > 128) words[i] = Pair<TE>::of(acc[64 + 2 * i], acc[65 + 2 * i]);
        }
        T::put(first, mine);
        place = to, down = (int)(m - row0), across = (int)(n - column0);
      } else if constexpr (sizeof(TE) == 2) {
#pragma unroll
        for (int part = 0; part < T::COLS / 128; part++) {
#pragma unroll
          for (int i = 0; i < 32; i++) words[i] = Pair<TE>::of(alpha * acc[64 * part + 2 * i], alpha * acc[64 * part + 2 * i + 1]);
          T::put(words, mine);
          T::leave(mine, to + 128 * part, ldc, (int)(m - row0), (int)(n - column0) - 128 * part);
        }
      } else {
#pragma unroll
        for (int i = 0; i < T::COLS / 2; i++) acc[i] *= alpha;
        T::rows(acc, mine, to, ldc, (int)(m - row0), (int)(n - column0));
      }
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
  }, 0x7fffffff, later);
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
      T::rows(acc, mine, to, ldc, (int)(m - row0), (int)(n - column0));
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
