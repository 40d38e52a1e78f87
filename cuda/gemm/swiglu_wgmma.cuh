// The bodies of swiglu_DTYPE_sm90_skinny.cu: Y[M,N] = silu(X[M,K]·G[N,K]ᵀ) ∘ (X[M,K]·U[N,K]ᵀ) of 17 to 128 rows on Hopper's tensor cores, row-major; K is a multiple of 16 bytes
// (swiglu.go asks). One launch, the same bits every time. FLOP: 4·M·N·K + 6·M·N, of 64 or 128 rows. Bytes: both weights once, Y once, X once a cluster, from L2.
//
// The ring of skinny_wgmma.cuh: a stage's columns are COLS / 2 of the gate and behind them the same of up, by two maps, so that wgmma gives one thread both sums of an element. Blocks have 32
// columns of Y, or 64 (_wide) where they come out in as few rounds of as much; where 32 fill half the multiprocessors the blocks of a pair share k.
// Disassembled (sm_90a), a stage and warp: 39 instructions of which 4 HGMMA, wide 39; the end 103 for two outputs, 16 (wide 32) times with 64 rows. 58 and 90 registers, no spill.
// At 2816 columns 88 blocks bring 131 KB of weights each at K = 1024, and 64 KB of X, half of it by the other block of the pair.
// Predicted on an H200 at K = 1024, N = 2816, weights in L2: M = 64 5.5 µs (2 for the launch, 2 for a block's 195 KB at some 100 GB/s, 1.5 for the first stage and the end), where the
// chain of linear layers took 18.8 and swiglu_bf16_sm80 26.0; M = 128 6.5. From DRAM, N = 14336, K = 4096 (235 MB, 112 pairs of wide blocks in two rounds of 132, 0.85): 0.7 of its roof,
// 70 µs. not yet measured.
//
// Versions: 1 as described. Next: blocks that stay and take tiles in turn; 24 columns of Y, which would be 118 blocks for 2816.
#ifndef RIDGE_SWIGLU_WGMMA_CUH
#define RIDGE_SWIGLU_WGMMA_CUH

#include "skinny_wgmma.cuh"

// The shape: P, rows of A's box, columns of a block (of gate and up together), blocks of a cluster with columns of their own or with parts of k.
#define RIDGE_SWIGLU_RING(entry, TE, ...)                                                                                                   \
  RIDGE_KERNEL_ALONE(entry, (SkinnyRing<__VA_ARGS__, true>::THREADS))                                                                       \
  (RIDGE_TENSOR_MAP(a), RIDGE_TENSOR_MAP(gate), RIDGE_TENSOR_MAP(up), int64_t m, int64_t n, int64_t k, int64_t keep, TE *c) {               \
    const bool paired = (uintptr_t)c % (2 * sizeof(TE)) == 0 && n % 2 == 0;                                                                 \
    SkinnyRing<__VA_ARGS__, true>::product(m, n, k, keep, a, gate, up, [&](int64_t row, int64_t column, float g, float h, float u, float v) { \
      Run<TE, 2> out;                                                                                                                       \
      out.at[0] = element<TE>::store(silu(g) * u);                                                                                          \
      out.at[1] = element<TE>::store(silu(h) * v);                                                                                          \
      store_run(c + row * n + column, out, n - column, paired);                                                                             \
    });                                                                                                                                     \
  }                                                                                                                                         \
  RIDGE_ENTRY(entry)

// Each height with a part of k a block (N of few tiles), with neighbouring columns, and with twice as many.
#define RIDGE_SWIGLU_RINGS(entry, TE, P)                         \
  RIDGE_SWIGLU_RING(entry##_parts_rows32, TE, P, 32, 64, 1, 2)   \
  RIDGE_SWIGLU_RING(entry##_parts_rows64, TE, P, 64, 64, 1, 2)   \
  RIDGE_SWIGLU_RING(entry##_parts_rows128, TE, P, 128, 64, 1, 2) \
  RIDGE_SWIGLU_RING(entry##_rows32, TE, P, 32, 64, 2, 1)         \
  RIDGE_SWIGLU_RING(entry##_rows64, TE, P, 64, 64, 2, 1)         \
  RIDGE_SWIGLU_RING(entry##_rows128, TE, P, 128, 64, 2, 1)       \
  RIDGE_SWIGLU_RING(entry##_wide_rows32, TE, P, 32, 128, 2, 1)   \
  RIDGE_SWIGLU_RING(entry##_wide_rows64, TE, P, 64, 128, 2, 1)   \
  RIDGE_SWIGLU_RING(entry##_wide_rows128, TE, P, 128, 128, 2, 1)

#endif
