// The bodies of gemm_DTYPE_sm90.cu: C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]) on Hopper's tensor cores, operands, batches and epilogues
// as gemm_mma.cuh has them. Rows of A and B begin at multiples of 16 bytes, K > 0 (wgmma.go asks), C may lie anyhow.
//
// ridge_wgmma_tile.cuh has the loops. Entries: …_nn (B stored [K,N], 16 bits) and …_nt (B stored [N,K]), each with tiles of 128 × 256 (4 stages of
// 48 KB), the same in clusters (_cluster), _narrow 128 × 128 (6 of 32 KB), and of 16 bits _slim 128 × 64 (8 of 24 KB), which wgmma.go picks where they are done sooner. 3×TF32 has one, without clusters: its L2 traffic is 21
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
// The end with an activation, disassembled, an element with its rounding: gelu 11.5 instructions (one of the special function unit), silu 6.5 and gelu_tanh 8.5 (two), relu 1.5. Of 128 × 256 a scheduler, which has
// two warps, takes 2950 cycles for gelu, 4100 for the others' special instructions; of 128 × 64 a quarter. Before (`each`, by erfcf or expf and a division) linear 512 × 1024 × 1024 with bias took 20.1 µs with
// gelu, 19.2 with silu, 10.3 with relu; a product with bias and gelu's own kernel 12.0. Predicted: 10.7 with gelu and 10.8 with silu in narrow tiles, 9.6 and 9.7 in slim ones, relu 9.3; not yet measured. fp32
// results are finished four at a time as they leave, behind shared memory.
//
// gemm_DTYPE_sm90_tma.cu has the same with another end, by boxes: a warp's 128 columns leave by two stores of TMA, the first ones at once, the others under the next tile's wgmma. It is chosen by its name alone until
// both are measured (`ridge bench gemm --kernel gemm_bf16_sm90_tma`). Predicted: the prototype's 1.01 of cuBLASLt at 4096³ and 8192³.
//
// Versions: 1 as described; 2 clusters; 3 plain sums leave rounded (bf16 NN 4096³ 0.87 → 0.98 of cuBLASLt in a long row of launches); 4 (of 16 bits) half of them under the next tile's wgmma, with bias and ReLU in registers (0.986:
// hardly a gain); 5 all activations in registers, places of tiles in 32 bits, tiles of 64 columns, and stores by TMA beside it (a prototype: 1.01 at 4096³ and 1.01 to 1.07 at 8192³). Next: stmatrix. A grid of only as many blocks as the rounds need (128 of 132) changed
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
    wgmma_floats<WgmmaTile<P, ALONG, COLS, BLOCKS>, TE, false>(a, b, m, n, k, batch, ldc, stride_c, (int)act, (float)alpha, (float)beta, d, bias, c, a); \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

// The same with stores of C by TMA: c is mapped in boxes of 64 columns of 16 rows.
#define RIDGE_WGMMA_FLOATS_TMA(entry, P, TE, ALONG, COLS, BLOCKS)                                                                         \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)                                                                                                \
  (RIDGE_TENSOR_MAP(a), RIDGE_TENSOR_MAP(b), RIDGE_TENSOR_MAP(boxes), int64_t m, int64_t n, int64_t k, int64_t batch, int64_t ldc,        \
   int64_t stride_c, int64_t act, double alpha, double beta, const TE *d, const TE *bias, TE *c) {                                        \
    wgmma_floats<WgmmaTile<P, ALONG, COLS, BLOCKS>, TE, true>(a, b, m, n, k, batch, ldc, stride_c, (int)act, (float)alpha, (float)beta, d, bias, c, boxes); \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

// Words of two rounded results act(sum), of 128 columns (or a tile's 64) from a part on. There is one branch by the activation: each has its code for all sums.
template <class TE, int ACT, int COUNT, int WORDS> __device__ __forceinline__ void words_by(const float (&acc)[COUNT], int part, unsigned (&words)[WORDS]) {
#pragma unroll
  for (int i = 0; i < WORDS; i++) words[i] = Pair<TE>::of(activate_of<TE>(ACT, acc[64 * part + 2 * i]), activate_of<TE>(ACT, acc[64 * part + 2 * i + 1]));
}
template <class TE, int COUNT, int WORDS> __device__ __forceinline__ void words_of(const float (&acc)[COUNT], int part, int act, unsigned (&words)[WORDS]) {
  switch (act) {
    case ACT_RELU: return words_by<TE, ACT_RELU>(acc, part, words);
    case ACT_GELU: return words_by<TE, ACT_GELU>(acc, part, words);
    case ACT_GELU_TANH: return words_by<TE, ACT_GELU_TANH>(acc, part, words);
    case ACT_SILU: return words_by<TE, ACT_SILU>(acc, part, words);
  }
  words_by<TE, ACT_NONE>(acc, part, words);
}

template <int ACT, int COUNT> __device__ __forceinline__ void each_by(Run<float, COUNT> &v) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) v.at[i] = activate(ACT, v.at[i]);
}

// alpha·sum + bias[column] of the sums as they lie in registers; bias is that of the tile's first column, of which `across` exist, an even number.
template <int COUNT, class TE> __device__ __forceinline__ void shift(float (&acc)[COUNT], float alpha, const TE *bias, int64_t across) {
  if (alpha != 1.0f) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) acc[i] *= alpha;
  }
  if (bias) {
#pragma unroll
    for (int j = 0; j < COUNT / 4; j++) {
      const int column = 8 * j + threadIdx.x % 4 * 2;
      const Run<TE, 2> x = run_of<2>(bias + column, across - column, true);
#pragma unroll
      for (int e = 0; e < 4; e++) acc[4 * j + e] += load(x.at[e % 2]);
    }
  }
}

// BOXES: sums of the fast end leave by TMA.
template <class T, class TE, bool BOXES>
__device__ __forceinline__ void wgmma_floats(const ridge_tensor_map &a, const ridge_tensor_map &b, int64_t m, int64_t n, int64_t k, int64_t batch,
                                             int64_t ldc, int64_t stride_c, int act, float alpha, float beta, const TE *d, const TE *bias,
                                             TE *c, const ridge_tensor_map &boxes) {
  constexpr int N = 16 / sizeof(TE);
  const Epilogue<TE> e = {d, bias, alpha, beta, act};
  const bool packed = (uintptr_t)c % 16 == 0 && ldc % N == 0 && e.packs(n);
  constexpr bool LATER = T::loop::LATER && sizeof(TE) == 2; // there are registers for it
  const bool plain = packed && !d && n % N == 0;
  unsigned words[T::WORDS]; // of the last tile's other columns: they leave under the next one's wgmma
  TE *place = nullptr;
  int down = 0, across = 0; // BOXES: row and column, of product z
  int product = -1;
  const auto later = [&](shared_at mine) {
    if constexpr (LATER && BOXES) {
      if (T::COLS <= 128 || product < 0) return;
      T::boxes_left();
      T::put_boxes(words, mine);
      T::leave_boxes(boxes, mine, across + 128, down, product);
      product = -1;
    } else if constexpr (LATER) {
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
      const TE *add = bias ? bias + column0 : nullptr;
      if constexpr (LATER) {
        shift(acc, alpha, add, n - column0);
        words_of<TE>(acc, 0, act, words);
        if constexpr (BOXES) {
          down = (int)row0, across = (int)column0, product = (int)z;
          T::boxes_left();
          T::put_boxes(words, mine);
          T::leave_boxes(boxes, mine, across, down, product);
        } else {
          T::put(words, mine);
        }
        if constexpr (T::COLS > 128) words_of<TE>(acc, 1, act, words);
        if constexpr (!BOXES) place = to, down = (int)(m - row0), across = (int)(n - column0);
      } else if constexpr (sizeof(TE) == 2) {
        shift(acc, alpha, add, n - column0);
#pragma unroll
        for (int part = 0; part < T::COLS / 128; part++) {
          words_of<TE>(acc, part, act, words);
          T::put(words, mine);
          T::leave(mine, to + 128 * part, ldc, (int)(m - row0), (int)(n - column0) - 128 * part);
        }
      } else if (!bias && act == ACT_NONE) {
        shift(acc, alpha, add, n - column0);
        T::rows(acc, mine, to, ldc, (int)(m - row0), (int)(n - column0));
      } else {
        T::rows(acc, mine, to, ldc, (int)(m - row0), (int)(n - column0), [&](int column) {
          Run<float, 4> x = {};
          if (add && column < n - column0) x = *(const Run<float, 4> *)(add + column);
          return [=](Run<float, 4> &v) {
#pragma unroll
            for (int i = 0; i < 4; i++) v.at[i] = fmaf(alpha, v.at[i], x.at[i]);
            switch (act) {
              case ACT_RELU: return each_by<ACT_RELU>(v);
              case ACT_GELU: return each_by<ACT_GELU>(v);
              case ACT_GELU_TANH: return each_by<ACT_GELU_TANH>(v);
              case ACT_SILU: return each_by<ACT_SILU>(v);
            }
          };
        });
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
  if constexpr (BOXES) T::boxes_left();
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
