// The bodies of gemm_DTYPE_simt.cu and mlp_DTYPE_simt.cu: C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]), row-major with
// pitches, op(B) = B[K,N] or the transpose of B[N,K], batch products behind each other; sums in fp32, fp64 of fp64.
// FLOP: 2·M·N·K a product. Bytes: each matrix once. No alignment or divisibility is asked for.
//
// The multiply-adds should bind: tiles of 128 × 128, fp64 128 × 64 (ridge_product.cuh has the counts).
// Measured on an H200, 4096³: fp32 33.9 TFLOP/s (cuBLAS 49.7 in the same run): 512 multiply-adds of 840 instructions a step, 0.61 of the issue slots. What lies in whole packs of
// 16 bytes is left to gemm_simt_whole.cuh.
#ifndef RIDGE_GEMM_SIMT_CUH
#define RIDGE_GEMM_SIMT_CUH

#include "ridge_epilogue.cuh"
#include "ridge_product.cuh"

struct GemmShape {
  int64_t m, n, k, lda, ldb, ldc;
  bool transposed; // B is stored [N,K]
};

typedef Tile<SumFloat, 128, 128, 8> FloatTile;
typedef Tile<SumDouble, 128, 64, 8> DoubleTile;
template <class T> struct tile_of {
  typedef FloatTile type;
};
template <> struct tile_of<double> {
  typedef DoubleTile type;
};

// Tiles are numbered along blockIdx.x, row by row.
template <class TA, class TB, class TE, class TC>
__device__ __forceinline__ void gemm_block(const GemmShape &g, const TA *a, const TB *b, const Epilogue<TE> &e, TC *c) {
  typedef typename tile_of<TC>::type T;
  const int64_t across = g.n > 0 ? (g.n + T::COLS - 1) / T::COLS : 1;
  const int64_t row0 = blockIdx.x / across * T::ROWS, col0 = blockIdx.x % across * T::COLS;
  const int64_t along = g.transposed ? 1 : g.ldb, beside = g.transposed ? g.ldb : 1; // B's strides of k and of the column
  typename T::sum acc[T::RM][T::RN] = {};
  T::product(
      g.k, true, g.transposed,
      [&](int r, int64_t k) { return row0 + r < g.m && k < g.k ? load(a[(row0 + r) * g.lda + k]) : 0; },
      [&](int j, int64_t k) { return col0 + j < g.n && k < g.k ? load(b[(col0 + j) * beside + k * along]) : 0; }, [](int64_t) {}, acc);
#pragma unroll
  for (int i = 0; i < T::RM; i++)
#pragma unroll
    for (int j = 0; j < T::RN; j++) {
      const int64_t row = row0 + T::row(i), col = col0 + T::col(j);
      if (row < g.m && col < g.n) c[row * g.ldc + col] = element<TC>::store(e(acc[i][j], row * g.n + col, col));
    }
}

// stride_*: elements between the matrices of a batch; the product is blockIdx.z. d and bias are of type TE and may be null.
#define RIDGE_GEMM_SIMT(entry, TA, TB, TC) RIDGE_GEMM_SIMT_WITH(entry, TA, TB, TB, TC)
#define RIDGE_GEMM_SIMT_WITH(entry, TA, TB, TE, TC)                                                                                              \
  RIDGE_KERNEL(entry, 256)                                                                                                              \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t stride_a, int64_t stride_b, int64_t stride_c,        \
   int64_t transposed, int64_t act, double alpha, double beta, const TA *a, const TB *b, const TE *d, const TE *bias, TC *c) {          \
    typedef element<TE>::wide wide;                                                                                                     \
    const GemmShape g = {m, n, k, lda, ldb, ldc, transposed != 0};                                                                      \
    const int64_t z = blockIdx.z;                                                                                                       \
    const Epilogue<TE> e = {d ? d + z * m * n : d, bias, (wide)alpha, (wide)beta, (int)act};                                            \
    gemm_block(g, a + z * stride_a, b + z * stride_b, e, c + z * stride_c);                                                             \
  }                                                                                                                                     \
  RIDGE_ENTRY(entry)

#endif
