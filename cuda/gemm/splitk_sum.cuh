// The second launch of products whose blocks share k (splitk_mma.cuh, splitk_wgmma.cuh): the parts [parts][M,N] of an element are added in their order, and
// the epilogue follows. Bytes: 4·parts·M·N, which the first launch left in L2, and C.
#ifndef RIDGE_SPLITK_SUM_CUH
#define RIDGE_SPLITK_SUM_CUH

#include "ridge_epilogue.cuh"

__device__ __forceinline__ float add_parts(float a, float b) { return a + b; }
__device__ __forceinline__ int add_parts(int a, int b) { return (int)((unsigned)a + (unsigned)b); } // wraps

// A block has 256 columns of row blockIdx.y; finish(sum, row, column).
template <class S, class F> __device__ __forceinline__ void sum_parts(int64_t m, int64_t n, int64_t count, const S *parts, F finish) {
  const int64_t row = blockIdx.y, column = global_thread();
  if (row >= m || column >= n) return;
  parts += row * n + column;
  S s = parts[0];
#pragma unroll 4
  for (int64_t p = 1; p < count; p++) s = add_parts(s, parts[p * m * n]);
  finish(s, row, column);
}

#define RIDGE_SPLITK_FLOATS(entry, S, TE)                                                                                                 \
  RIDGE_KERNEL(entry, 256)                                                                                                                \
  (int64_t m, int64_t n, int64_t ldc, int64_t count, int64_t act, double alpha, double beta, const S *parts, const TE *d, const TE *bias, \
   TE *c) {                                                                                                                               \
    typedef element<TE>::wide wide;                                                                                                       \
    const Epilogue<TE> e = {d, bias, (wide)alpha, (wide)beta, (int)act};                                                                  \
    sum_parts(m, n, count, parts, [&](S s, int64_t row, int64_t column) {                                                                 \
      c[row * ldc + column] = element<TE>::store(e(s, row * n + column, column));                                                         \
    });                                                                                                                                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#define RIDGE_SPLITK_BYTES(entry)                                                                                                         \
  RIDGE_KERNEL(entry, 256)                                                                                                                \
  (int64_t m, int64_t n, int64_t ldc, int64_t count, const int32_t *parts, const int32_t *bias, int32_t *c) {                             \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                          \
    sum_parts(m, n, count, parts, [&](int s, int64_t row, int64_t column) { c[row * ldc + column] = e(s, 0, column); });                  \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)                                                                                                                      \
  RIDGE_KERNEL(entry##_requant, 256)                                                                                                      \
  (int64_t m, int64_t n, int64_t ldc, int64_t count, int64_t act, const int32_t *parts, const int32_t *bias, const float *scale,          \
   int8_t *c) {                                                                                                                           \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                          \
    sum_parts(m, n, count, parts, [&](int s, int64_t row, int64_t column) {                                                               \
      c[row * ldc + column] = requantise(e(s, 0, column), scale[column], act == ACT_RELU);                                                \
    });                                                                                                                                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry##_requant)

#endif
