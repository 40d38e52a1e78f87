// The bodies of swiglu_DTYPE_sm80_splitk.cu: Y[M,N] = silu(X[M,K]·G[N,K]ᵀ) ∘ (X[M,K]·U[N,K]ᵀ) of few tiles on tensor cores, row-major; K is a multiple of 16 bytes (swiglu.go asks).
//
// splitk_mma.cuh's tiles and parts, of both weights side by side; a second launch adds the parts of an element in their order and multiplies: the same bits every time. Up to 64 rows may
// have one part alone: tiles of 32 and 64 rows waste less than swiglu_mma.cuh's of 128.
// FLOP: 4·M·N·K + 6·M·N, of whole tiles of rows. Bytes: both weights once where M ≤ 128, X once a column of tiles, Y once, and 16·parts·M·N of sums to L2 and back.
// Tiles of four warps lie twice on a multiprocessor, of eight once; swiglu.go gives it eight warps. Disassembled (sm_80), a stage and warp: bf16 as splitk_mma.cuh; fp32 48 mma of 347 instructions (32
// rows), 48 of 326 (64), 96 of 574 (128). 148, 140 and 212 registers; of bf16 118, 166 and 250. No spill. The sum: 32 registers.
// Predicted on an H200 at K = 1024, N = 2816: fp32 M = 64 15 µs (132 blocks of 22 stages at some 850 cycles, 10.5; 8.6 MB of sums to L2 and back and the second launch 3; the first stages 1.5), where the
// chain of linear layers took 35 and swiglu_fp32_simt 149; M = 128 21. On an A100 bf16 M = 64 11. not yet measured.
//
// Versions: 1 as described. Next: 3×TF32 of 64 rows in 128 registers, for a second block.
#ifndef RIDGE_SWIGLU_SPLITK_CUH
#define RIDGE_SWIGLU_SPLITK_CUH

#include "splitk_mma.cuh"

// Blocks along z have the gate and up, blocks along y parts of k; see RIDGE_SPLITK_PARTS. parts: [2][parts][M,N].
#define RIDGE_SWIGLU_PARTS(entry, P, ...)                                                                                                   \
  RIDGE_KERNEL(entry, (MmaGemm<P, 16, true, __VA_ARGS__>::THREADS))                                                                         \
  (int64_t m, int64_t n, int64_t k, int64_t per, const P::a_type *a, const P::b_type *gate, const P::b_type *up, P::sum *parts) {           \
    const int64_t from = blockIdx.y * per;                                                                                                  \
    MmaGemm<P, 16, true, __VA_ARGS__>::block(m, n, min(per, k - from), a + from, k, (blockIdx.z ? up : gate) + from, k,                     \
                                             parts + (blockIdx.z * (int64_t)gridDim.y + blockIdx.y) * m * n, n,                             \
                                             [](P::sum s, int64_t, int64_t) { return s; });                                                 \
  }                                                                                                                                         \
  RIDGE_ENTRY(entry)

// The second launch, a block for 256 columns of row blockIdx.y.
#define RIDGE_SWIGLU_SUM(entry, TE)                                                                                                         \
  RIDGE_KERNEL(entry, 256)(int64_t m, int64_t n, int64_t count, const float *parts, TE *c) {                                                \
    sum_parts(m, n, count, parts, [&](float gate, int64_t row, int64_t column) {                                                            \
      sum_parts(m, n, count, parts + count * m * n,                                                                                         \
                [&](float up, int64_t, int64_t) { c[row * n + column] = element<TE>::store(silu(gate) * up); });                            \
    });                                                                                                                                     \
  }                                                                                                                                         \
  RIDGE_ENTRY(entry)

#endif
