// The bodies of argmax_DTYPE_simt.cu: the index of the largest element of lines of x; of equal ones the first, NaN above all
// numbers. FLOP: 1 comparison an element; bytes: x once. The memory's bandwidth should bind.
//
// Two launches, as for sums (reduce.cuh): the first finds the best of each of parts pieces of a line and keeps it in the workspace
// (key and index, 8 bytes each), the second the best of a line's parts. An element's key is a 64-bit integer in the order of the numbers:
// about 6 instructions for 2 to 8 bytes, of 256 threads one pass.
//
//   rows: a line is n contiguous elements. Grid (lines, parts), 256 threads along the line.
//   cols: line c is x[0..n)[c]. Grid (cols / 32, parts), a block is 32 columns × 8 rows.
#ifndef RIDGE_ARGMAX_CUH
#define RIDGE_ARGMAX_CUH

#include "reduce.cuh"

// Larger numbers have larger keys; -0 and +0 have one, and so have all NaNs: the largest.
__device__ __forceinline__ uint64_t order_key(double x) {
  if (x != x) return ~0ull;
  const uint64_t bits = (uint64_t)__double_as_longlong(x + 0.0); // -0 + 0 is +0
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}
__device__ __forceinline__ uint64_t order_key(float x) {
  if (x != x) return ~0ull;
  const unsigned bits = __float_as_uint(x + 0.0f);
  return bits >> 31 ? (unsigned)~bits : bits | 1u << 31;
}

struct Best {
  uint64_t key;
  int64_t at;
  __device__ __forceinline__ void join(uint64_t k, int64_t i) {
    if (k > key || (k == key && i < at)) key = k, at = i;
  }
};
constexpr int64_t NOWHERE = INT64_MAX;

template <class T> __device__ __forceinline__ void argmax_rows(const T *x, int64_t *partial, int64_t n) {
  RIDGE_SHARED(uint64_t, keys, [8]);
  RIDGE_SHARED(int64_t, places, [8]);
  const int64_t line = blockIdx.x, parts = gridDim.y, part = blockIdx.y;
  int64_t from, to;
  piece(n, parts, part, &from, &to);
  Best b = {0, NOWHERE};
  for (int64_t i = from + threadIdx.x; i < to; i += 256) b.join(order_key(load(x[line * n + i])), i);
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    const uint64_t k = __shfl_xor_sync(0xffffffffu, b.key, d);
    b.join(k, __shfl_xor_sync(0xffffffffu, b.at, d));
  }
  if (threadIdx.x % 32 == 0) keys[threadIdx.x / 32] = b.key, places[threadIdx.x / 32] = b.at;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < 8; w++) b.join(keys[w], places[w]);
  partial[2 * (line * parts + part)] = (int64_t)b.key;
  partial[2 * (line * parts + part) + 1] = b.at;
}

template <class T> __device__ __forceinline__ void argmax_cols(const T *x, int64_t *partial, int64_t n, int64_t cols) {
  RIDGE_SHARED(uint64_t, keys, [8][33]);
  RIDGE_SHARED(int64_t, places, [8][33]);
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int64_t c = (int64_t)blockIdx.x * 32 + tx, parts = gridDim.y, part = blockIdx.y;
  int64_t from, to;
  piece(n, parts, part, &from, &to);
  Best b = {0, NOWHERE};
  if (c < cols)
    for (int64_t r = from + ty; r < to; r += 8) b.join(order_key(load(x[r * cols + c])), r);
  keys[ty][tx] = b.key, places[ty][tx] = b.at;
  __syncthreads();
  if (ty != 0 || c >= cols) return;
  for (int k = 1; k < 8; k++) b.join(keys[k][tx], places[k][tx]);
  partial[2 * (c * parts + part)] = (int64_t)b.key;
  partial[2 * (c * parts + part) + 1] = b.at;
}

#define RIDGE_ARGMAX(prefix, T)                                                                                  \
  RIDGE_KERNEL(prefix##_rows, 256)(const T *x, int64_t *partial, int64_t n) { argmax_rows(x, partial, n); }      \
  RIDGE_ENTRY(prefix##_rows)                                                                                     \
  RIDGE_KERNEL(prefix##_cols, 256)(const T *x, int64_t *partial, int64_t n, int64_t cols) {                      \
    argmax_cols(x, partial, n, cols);                                                                            \
  }                                                                                                              \
  RIDGE_ENTRY(prefix##_cols)                                                                                     \
  RIDGE_KERNEL(prefix##_parts, 256)(const int64_t *partial, int64_t *y, int64_t lines, int64_t parts) {          \
    for (int64_t line = global_thread(); line < lines; line += all_threads()) {                                  \
      Best b = {0, NOWHERE};                                                                                     \
      for (int64_t p = line * parts; p < (line + 1) * parts; p++) b.join((uint64_t)partial[2 * p], partial[2 * p + 1]); \
      y[line] = b.at;                                                                                            \
    }                                                                                                            \
  }                                                                                                              \
  RIDGE_ENTRY(prefix##_parts)

#endif
