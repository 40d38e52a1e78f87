// The bodies of argmax_DTYPE_simt.cu: the index of the largest element of lines of x; of equal ones the first, NaN above all
// numbers. FLOP: 1 comparison an element; bytes: x once. The memory's bandwidth should bind.
//
// Launches, grids and blocks as for sums (reduce.cuh): the best of a piece is kept in the workspace (key and index, 8 bytes each), the second launch finds the best of
// a line's. An element's key is an integer in the order of the numbers, 32 bits wide but for fp64: about 6 instructions for 2 to 8 bytes.
// Measured on an H200 on a prototype of the loop: all of 1024 x 1024 fp32 in 4.0 us (torch 8.9), in one launch whose last block joins the parts 4.4.
#ifndef RIDGE_ARGMAX_CUH
#define RIDGE_ARGMAX_CUH

#include "reduce.cuh"

// Larger numbers have larger keys, all above 0; -0 and +0 have one, and so have all NaNs: the largest.
__device__ __forceinline__ uint64_t order_key(double x) {
  if (x != x) return ~0ull;
  const uint64_t bits = (uint64_t)__double_as_longlong(x + 0.0); // -0 + 0 is +0
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}
__device__ __forceinline__ unsigned order_key(float x) {
  if (x != x) return ~0u;
  const unsigned bits = __float_as_uint(x + 0.0f);
  return bits >> 31 ? ~bits : bits | 1u << 31;
}

// Key 0: nothing yet.
template <class K> struct Best {
  K key;
  int64_t at;
  // An element behind all before.
  __device__ __forceinline__ void next(K k, int64_t i) {
    if (k > key) key = k, at = i;
  }
  __device__ __forceinline__ void join(K k, int64_t i) {
    if (k > key || (k == key && i < at)) key = k, at = i;
  }
};
template <class T> struct key_of {
  typedef unsigned type;
};
template <> struct key_of<double> {
  typedef uint64_t type;
};
constexpr int64_t NOWHERE = INT64_MAX;

// The best of lanes from apart distance on: each gets it.
template <class K> __device__ __forceinline__ void join_lanes(Best<K> &b, int from, int to) {
  for (int d = from; d < to; d *= 2) {
    const K k = __shfl_xor_sync(0xffffffffu, b.key, d);
    b.join(k, __shfl_xor_sync(0xffffffffu, b.at, d));
  }
}

// … of a block of 1, 2, 4, … 32 warps.
template <class K> __device__ __forceinline__ void join_block(Best<K> &b) {
  RIDGE_SHARED(K, keys, [32]);
  RIDGE_SHARED(int64_t, places, [32]);
  const int warps = blockDim.x / 32;
  join_lanes(b, 1, 32);
  if (warps == 1) return;
  if (threadIdx.x % 32 == 0) keys[threadIdx.x / 32] = b.key, places[threadIdx.x / 32] = b.at;
  __syncthreads();
  b.key = keys[threadIdx.x & (warps - 1)], b.at = places[threadIdx.x & (warps - 1)];
  join_lanes(b, 1, warps);
}

template <class K> __device__ __forceinline__ void end_piece(const Best<K> &b, int64_t *partial, int64_t *y, int64_t line) {
  const int64_t p = line * gridDim.y + blockIdx.y;
  if (gridDim.y > 1)
    partial[2 * p] = (int64_t)b.key, partial[2 * p + 1] = b.at;
  else
    y[line] = b.at;
}

template <class T> __device__ __forceinline__ void argmax_rows(const T *x, int64_t *partial, int64_t *y, int64_t n) {
  typedef typename key_of<T>::type K;
  constexpr int W = 16 / sizeof(T);
  const T *line = x + blockIdx.x * n;
  Best<K> b = {0, NOWHERE};
  along(
      line, n,
      [&](const Run<T, W>(&v)[TURN], const int64_t(&first)[TURN]) {
#pragma unroll
        for (int u = 0; u < TURN; u++) {
          Best<K> here = {0, 0};
#pragma unroll
          for (int k = 0; k < W; k++) here.next(order_key(load(v[u].at[k])), k);
          if (first[u] >= 0) b.next(here.key, first[u] + here.at);
        }
      },
      [&](int64_t i) { b.join(order_key(load(line[i])), i); });
  join_block(b);
  if (threadIdx.x == 0) end_piece(b, partial, y, blockIdx.x);
}

template <class T, int N> __device__ __forceinline__ void argmax_cols(const T *x, int64_t *partial, int64_t *y, int64_t n, int64_t cols, int64_t width) {
  typedef typename key_of<T>::type K;
  RIDGE_SHARED(K, keys, [16 * COLUMNS]);
  RIDGE_SHARED(int64_t, places, [16 * COLUMNS]);
  const Columns at(width);
  const int64_t c = at.column(N);
  int64_t from, to;
  piece(n, gridDim.y, blockIdx.y, &from, &to);
  Best<K> b[N];
#pragma unroll
  for (int k = 0; k < N; k++) b[k] = {0, NOWHERE};
  if (c < cols)
    for (int64_t r = from + at.down; r < to; r += TURN * at.high) {
      Run<T, N> v[TURN] = {};
#pragma unroll
      for (int u = 0; u < TURN; u++)
        if (r + u * at.high < to) v[u] = load_once((const Run<T, N> *)(x + (r + u * at.high) * cols + c));
#pragma unroll
      for (int u = 0; u < TURN; u++)
#pragma unroll
        for (int k = 0; k < N; k++)
          if (r + u * at.high < to) b[k].next(order_key(load(v[u].at[k])), r + u * at.high);
    }
  const int lane = threadIdx.x % 32, columns = at.width * N;
#pragma unroll
  for (int k = 0; k < N; k++) {
    join_lanes(b[k], at.width, 32);
    if (lane < at.width) keys[threadIdx.x / 32 * columns + lane * N + k] = b[k].key, places[threadIdx.x / 32 * columns + lane * N + k] = b[k].at;
  }
  __syncthreads();
  const int64_t line = (int64_t)blockIdx.x * columns + threadIdx.x;
  if ((int)threadIdx.x >= columns || line >= cols) return;
  Best<K> all = {0, NOWHERE};
  for (int w = 0; w < (int)blockDim.x / 32; w++) all.join(keys[w * columns + threadIdx.x], places[w * columns + threadIdx.x]);
  end_piece(all, partial, y, line);
}

template <class K> __device__ __forceinline__ void argmax_parts(const int64_t *partial, int64_t *y, int64_t parts) {
  Best<K> b = {0, NOWHERE};
  for (int64_t p = blockIdx.x * parts + threadIdx.x; p < (blockIdx.x + 1) * parts; p += blockDim.x) b.join((K)partial[2 * p], partial[2 * p + 1]);
  join_block(b);
  if (threadIdx.x == 0) y[blockIdx.x] = b.at;
}

#define RIDGE_ARGMAX(prefix, T)                                                                                                           \
  RIDGE_KERNEL(prefix##_rows, 256)(const T *x, int64_t *partial, int64_t *y, int64_t n) { argmax_rows(x, partial, y, n); }               \
  RIDGE_ENTRY(prefix##_rows)                                                                                                              \
  RIDGE_KERNEL(prefix##_cols, 512)(const T *x, int64_t *partial, int64_t *y, int64_t n, int64_t cols, int64_t width) {                    \
    argmax_cols<T, 16 / sizeof(T)>(x, partial, y, n, cols, width);                                                                        \
  }                                                                                                                                       \
  RIDGE_ENTRY(prefix##_cols)                                                                                                              \
  RIDGE_KERNEL(prefix##_cols_unaligned, 512)(const T *x, int64_t *partial, int64_t *y, int64_t n, int64_t cols, int64_t width) {          \
    argmax_cols<T, 1>(x, partial, y, n, cols, width);                                                                                     \
  }                                                                                                                                       \
  RIDGE_ENTRY(prefix##_cols_unaligned)                                                                                                    \
  RIDGE_KERNEL(prefix##_parts, 256)(const int64_t *partial, int64_t *y, int64_t parts) { argmax_parts<key_of<T>::type>(partial, y, parts); } \
  RIDGE_ENTRY(prefix##_parts)

#endif
