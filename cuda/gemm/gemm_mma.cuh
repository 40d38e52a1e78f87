// The bodies of gemm_DTYPE_sm80.cu: C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]) on tensor cores, operands, batches and epilogues
// as gemm_simt.cuh and gemm_dp4a.cuh have them. Rows of A and B begin at multiples of COPY bytes (mma.go asks), C may lie anyhow.
// FLOP: 2·M·N·K a product. Bytes: each matrix once; from L2 each tile of A and B once a block.
//
// ridge_mma_tile.cuh has the loop. Entries: …_nn (B stored [K,N]) and …_nt (B stored [N,K]), each with tiles of 128 × 128 (4 warps, 64 KB of shared
// memory, two blocks a multiprocessor of 164 KB or more) and _wide 128 × 256 (8 warps, 96 KB, less from L2: 10.7 KB a k·KB instead of 16); fp64
// 128 × 64 (48 KB). Blocks go down 8 tiles before they go right, so that those that run together share columns of B and rows of A in L2.
//
// Counts a block, K of 64 bytes (bf16: 32): 16 KB (wide 24 KB) by cp.async, 128 × 128 × 32 × 2 FLOP = 1.05 MFLOP (2.1): 64 (85) FLOP a byte of L2; 8.0 needs 2048 FLOP a
// cycle of a multiprocessor, so 32 (24) bytes of L2. The end: a row of 64 sums leaves a warp in one store of 128 bytes (bf16), some 30
// instructions a row against 160 a stage: 0.1 of the issue slots at K = 1024.
// Predicted of the tensor roof at 4096³: on 8.0 bf16, fp16 and int8 0.75 to 0.82, fp64 0.85 to 0.9; on 9.0, where mma.sync itself has 0.63,
// 0.5 to 0.57, fp64 by m16n8k4 about 0.7. Not yet measured.
#ifndef RIDGE_GEMM_MMA_CUH
#define RIDGE_GEMM_MMA_CUH

#include "ridge_epilogue.cuh"
#include "ridge_mma_output.cuh"

// A block's tile of C[m,n]; value(sum, row, column) is an element. B is stored [n,k] (ALONG) or [k,n].
template <class P, int COPY, bool ALONG, int... SIZES> struct MmaGemm : MmaTile<P, ALONG, SIZES...> {
  typedef MmaTile<P, ALONG, SIZES...> T;
  template <class TC, class F>
  static __device__ __forceinline__ void block(int64_t m, int64_t n, int64_t k, const typename P::a_type *a, int64_t lda,
                                               const typename P::b_type *b, int64_t ldb, TC *c, int64_t ldc, F value) {
    if (m == 0 || n == 0) return;
    const TilePlace tile = tile_place(blockIdx.x, m, n, T::ROWS, T::COLS);
    typename T::sum acc[T::RM][T::RN][4] = {};
    T::product(k, T::template source_a<COPY>(a + tile.row * lda, lda, m - tile.row),
               T::template source_b<COPY>(b + (ALONG ? tile.column * ldb : tile.column), ldb, n - tile.column), acc);
    mma_store<T>(acc, tile, m, n, c, ldc, value);
  }
};

// The tile: P, COPY, ALONG, rows and columns of a block and of a warp.
#define RIDGE_MMA_FLOATS(entry, P, TE, ...)                                                                                               \
  RIDGE_KERNEL(entry, (MmaGemm<P, __VA_ARGS__>::THREADS))                                                                                 \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t stride_a, int64_t stride_b, int64_t stride_c,        \
   int64_t act, double alpha, double beta, const P::a_type *a, const P::b_type *b, const TE *d, const TE *bias, TE *c) {                  \
    typedef element<TE>::wide wide;                                                                                                       \
    const int64_t z = blockIdx.z;                                                                                                         \
    const Epilogue<TE> e = {d ? d + z * m * n : d, bias, (wide)alpha, (wide)beta, (int)act};                                              \
    MmaGemm<P, __VA_ARGS__>::block(                                                                                                       \
        m, n, k, a + z * stride_a, lda, b + z * stride_b, ldb, c + z * stride_c, ldc,                                                     \
        [&](P::sum s, int64_t row, int64_t column) { return element<TE>::store(e(s, row * n + column, column)); });                       \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#define RIDGE_MMA_BYTES(entry, P, ...)                                                                                                    \
  RIDGE_KERNEL(entry, (MmaGemm<P, __VA_ARGS__>::THREADS))                                                                                 \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t stride_a, int64_t stride_b, int64_t stride_c,        \
   const unsigned char *a, const unsigned char *b, const int32_t *bias, int32_t *c) {                                                     \
    const int64_t z = blockIdx.z;                                                                                                         \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                          \
    MmaGemm<P, __VA_ARGS__>::block(m, n, k, a + z * stride_a, lda, b + z * stride_b, ldb, c + z * stride_c, ldc,                          \
                                   [&](int s, int64_t, int64_t column) { return e(s, 0, column); });                                      \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#define RIDGE_MMA_REQUANT(entry, P, ...)                                                                                                  \
  RIDGE_KERNEL(entry, (MmaGemm<P, __VA_ARGS__>::THREADS))                                                                                 \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t act, const unsigned char *a, const unsigned char *b,   \
   const int32_t *bias, const float *scale, int8_t *c) {                                                                                  \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                          \
    MmaGemm<P, __VA_ARGS__>::block(m, n, k, a, lda, b, ldb, c, ldc, [&](int s, int64_t, int64_t column) {                                 \
      return requantise(e(s, 0, column), scale[column], act == ACT_RELU);                                                                 \
    });                                                                                                                                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#endif
