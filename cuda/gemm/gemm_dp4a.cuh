// The bodies of gemm_int8_simt.cu and gemm_u8s8_simt.cu: C[M,N] = A[M,K]·op(B) + bias[N] of bytes, row-major with pitches, sums in
// int32, which wrap, stored so or (requant) scaled to int8 (ridge_epilogue.cuh). Batches as gemm_simt.cuh.
// FLOP: 2·M·N·K a product. Bytes: each matrix once, C 4 or 1 an element.
//
// dp4a should bind (8 operations a lane; at the rate of integer multiplications, 64 lanes a multiprocessor on 8.0 and 9.0, to be measured): tiles of 128 × 128 in words of four k. A word that
// lies in memory in one piece at a multiple of 4 is one load, any other four.
#ifndef RIDGE_GEMM_DP4A_CUH
#define RIDGE_GEMM_DP4A_CUH

#include "ridge_epilogue.cuh"
#include "ridge_product.cuh"

struct BytesShape {
  int64_t m, n, k, lda, ldb, ldc;
  bool transposed;
};

template <class P, class F> __device__ __forceinline__ void dp4a_block(const BytesShape &g, const unsigned char *a, const unsigned char *b, F store) {
  typedef Tile<P, 128, 128, 8> T;
  const int64_t across = g.n > 0 ? (g.n + T::COLS - 1) / T::COLS : 1;
  const int64_t row0 = blockIdx.x / across * T::ROWS, col0 = blockIdx.x % across * T::COLS;
  const int64_t along = g.transposed ? 1 : g.ldb, beside = g.transposed ? g.ldb : 1;
  const bool whole_a = (((uintptr_t)a | (uintptr_t)g.lda) & 3) == 0, whole_b = g.transposed && (((uintptr_t)b | (uintptr_t)g.ldb) & 3) == 0;
  int acc[T::RM][T::RN] = {};
  T::product(
      (g.k + 3) / 4, true, g.transposed,
      [&](int r, int64_t k) { return row0 + r < g.m && 4 * k < g.k ? word_of(a + (row0 + r) * g.lda + 4 * k, 1, g.k - 4 * k, whole_a) : 0u; },
      [&](int j, int64_t k) {
        return col0 + j < g.n && 4 * k < g.k ? word_of(b + (col0 + j) * beside + 4 * k * along, along, g.k - 4 * k, whole_b) : 0u;
      },
      [](int64_t) {}, acc);
#pragma unroll
  for (int i = 0; i < T::RM; i++)
#pragma unroll
    for (int j = 0; j < T::RN; j++) {
      const int64_t row = row0 + T::row(i), col = col0 + T::col(j);
      if (row < g.m && col < g.n) store(acc[i][j], row, col);
    }
}

// As RIDGE_GEMM_SIMT, without alpha, beta and d.
#define RIDGE_GEMM_DP4A(entry, P)                                                                                                       \
  RIDGE_KERNEL(entry, 256)                                                                                                              \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t stride_a, int64_t stride_b, int64_t stride_c,        \
   int64_t transposed, const unsigned char *a, const unsigned char *b, const int32_t *bias, int32_t *c) {                               \
    const BytesShape g = {m, n, k, lda, ldb, ldc, transposed != 0};                                                                     \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                        \
    int32_t *y = c + blockIdx.z * stride_c;                                                                                             \
    dp4a_block<P>(g, a + blockIdx.z * stride_a, b + blockIdx.z * stride_b,                                                              \
                  [&](int s, int64_t row, int64_t col) { y[row * ldc + col] = e(s, 0, col); });                                         \
  }                                                                                                                                     \
  RIDGE_ENTRY(entry)

#define RIDGE_GEMM_REQUANT(entry, P)                                                                                                    \
  RIDGE_KERNEL(entry, 256)                                                                                                              \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t transposed, int64_t act, const unsigned char *a,     \
   const unsigned char *b, const int32_t *bias, const float *scale, int8_t *c) {                                                        \
    const BytesShape g = {m, n, k, lda, ldb, ldc, transposed != 0};                                                                     \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                        \
    dp4a_block<P>(g, a, b, [&](int s, int64_t row, int64_t col) {                                                                       \
      c[row * ldc + col] = requantise(e(s, 0, col), scale[col], act == ACT_RELU);                                                       \
    });                                                                                                                                 \
  }                                                                                                                                     \
  RIDGE_ENTRY(entry)

#endif
