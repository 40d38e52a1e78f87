// The bodies of swiglu_DTYPE_sm80_skinny.cu: Y[M,N] = silu(X[M,K]·G[N,K]ᵀ) ∘ (X[M,K]·U[N,K]ᵀ) of up to 16 rows, row-major; K is a multiple of
// 16 bytes (swiglu.go asks). One launch, the same bits every time. FLOP: 4·M·N·K + 6·M·N. Bytes: both weights once, Y once, X once a block, from L2.
//
// The loop of skinny_mma.cuh with B along k: a lane has two columns of the gate and the same two of up, so that a block has both sums of its 16 columns and one thread multiplies
// them behind the last addition. The weights' bytes bind. Eight warps (fp32 with 16 rows: six) share k; two blocks of at most 128 (168) registers lie on a multiprocessor side by side, so that 2816
// columns, 176 blocks, are on their way at once on 132, with 64 KB and more of loads a block (fp32 of 16 rows 36). Blocks of 32 columns, one a multiprocessor, would be 88.
// Disassembled (sm_90a), a step of 2 KB of weights and warp: bf16 59 instructions of which 4 mma and 5 loads (8 rows), 66, 8, 6 (16 rows); fp32 128, 12, 5 and 168, 24, 6. A multiprocessor
// of 132 has 43 steps of bf16 at 2816 × 1024: 0.6 k instructions a scheduler, 0.4 µs, of fp32 86: 1.6 µs. No spill.
// Predicted on an H200 at K = 1024, N = 2816, weights in L2 (11.5 and 23 MB at 5.5 TB/s, and 2 µs): bf16 M = 1 4.1 µs, 0.5 of that cache's roof, where the chain of linear layers took 8.9 and
// swiglu_bf16_sm80 29.4; fp32 M = 1 6.5 µs, 0.65 (15.5; swiglu_fp32_simt 148.5). From DRAM, N = 14336, K = 4096 (235 MB): 0.85 of its roof. not yet measured.
//
// Versions: 1 as described. Next: parts of k in clusters where N has fewer than 100 blocks.
#ifndef RIDGE_SWIGLU_SKINNY_CUH
#define RIDGE_SWIGLU_SKINNY_CUH

#include "skinny_mma.cuh"

// The shape: P, columns of a lane (of gate and up together), rows of Y by 8, warps along k, steps on their way. The launch bound of twice the threads is what makes ptxas leave registers
// for the second block.
#define RIDGE_SWIGLU_SKINNY(entry, P, TE, NC, MG, KW, D)                                                                          \
  RIDGE_KERNEL(entry, (2 * Skinny<P, true, NC, MG, 1, KW, D, true>::THREADS))                                                     \
  (int64_t m, int64_t n, int64_t k, const P::type *a, const P::type *gate, const P::type *up, TE *c) {                            \
    Skinny<P, true, NC, MG, 1, KW, D, true> s;                                                                                    \
    s.product(                                                                                                                    \
        m, n, k, a, k, gate, k,                                                                                                   \
        [&](int64_t row, int64_t column, float g, float u) { c[row * n + column] = element<TE>::store(silu(g) * u); }, up);       \
  }                                                                                                                               \
  RIDGE_ENTRY(entry)

#endif
