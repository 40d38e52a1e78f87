// The bodies of gemm_DTYPE_sm80_splitk.cu: products of few tiles on tensor cores, operands and epilogues as gemm_mma.cuh, one product at a time. Where tiles of
// C are fewer than multiprocessors, blocks share k: part p (blockIdx.y) sums k from p·per on and stores its sums, not rounded, to the workspace
// [parts][M,N]; a second launch adds the parts of an element in the order of p and does the epilogue: the same bits every time.
// FLOP: 2·M·N·K. Bytes: A, B and C once, and the parts written and read once, 8·parts·M·N, from L2.
//
// splitk.go takes as many parts as give each multiprocessor two blocks, so the parts' traffic is at most 2 · 64 KB · 2 a multiprocessor: 34 MB on an H200 at
// M = 128, 8.5 MB at M = 32, against 2·N·K bytes of weights. Tiles of 32, 64 and 128 rows (4 warps of 32 × 32, 32 × 64 and 64 × 64): 40, 48 and 64 KB of
// shared memory, of which three stages of 10, 12 and 16 KB are on their way: 60 to 96 KB a multiprocessor with two blocks, against the 25 KB that 4.8 TB/s at 700 ns
// take (Little's law). Weights are read by one block where M ≤ 128: the memory must bind. mma a stage and warp: 16, 32 and 64; at M = 128 their
// time, at 0.62 of 990 TFLOP/s, is that of the weights' bytes: 7 µs each at N = K = 4096.
// Disassembled (sm_80), a stage and warp: 16, 32 and 64 mma of 82 to 117, 105 to 139 and 149 to 177 instructions (B along k and across); 122, 166 and 251
// registers at most, no spill. Of the sum: 32 registers.
// Predicted of the memory's roof on an H200: M ≤ 32: 0.6 at 4096² (7.0 µs of bytes; 2 to 3 µs for the second launch and 1 µs for filling and emptying the
// stages), 0.78 at 8192², 0.85 at 16384²; M = 128: 0.4, 0.5, 0.55.
// Measured on an H200, µs, B stored [K,N] and [N,K], cuBLAS (CUDA 13.0) in brackets: bf16, M = 16, the first launch alone 4096² 10.3, 11.7, 8192² 36.6, 38.7, and 2.3 for the second; fp32 as
// three products of tf32, both: M = 32 2048² 13.9, 13.1 (42.0, 34.6), 4096² 31.8, 38.2 (55.2, 99.2), 8192² 103, 128 (202, 262); M = 128 1024² 19.0, 19.6 (25.1, 29.2), 4096² 106, 112 (123, 173).
#ifndef RIDGE_SPLITK_MMA_CUH
#define RIDGE_SPLITK_MMA_CUH

#include "gemm_mma.cuh"
#include "splitk_sum.cuh"

// per: k of a part, a multiple of a stage's; the last part may have less. The tile: P, 16, ALONG, rows and columns of a block and of a warp.
#define RIDGE_SPLITK_PARTS(entry, P, COPY, ALONG, ...)                                                                                    \
  RIDGE_KERNEL(entry, (MmaGemm<P, COPY, ALONG, __VA_ARGS__>::THREADS))                                                                    \
  (int64_t m, int64_t n, int64_t k, int64_t per, int64_t lda, int64_t ldb, const P::a_type *a, const P::b_type *b, P::sum *parts) {       \
    const int64_t from = blockIdx.y * per;                                                                                                \
    MmaGemm<P, COPY, ALONG, __VA_ARGS__>::block(m, n, min(per, k - from), a + from, lda, b + (ALONG ? from : from * ldb), ldb,            \
                                                parts + blockIdx.y * m * n, n, [](P::sum s, int64_t, int64_t) { return s; });             \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#endif
