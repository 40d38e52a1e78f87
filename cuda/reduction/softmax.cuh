// The bodies of softmax_DTYPE_simt.cu: y = exp(x − max) / Σ exp(x − max) along the rows or columns of x[rows, cols]. FLOP: 5 an element; bytes: x read
// once, y written once. The memory's bandwidth should bind.
//
//   rows_held  a row in a block's registers (held.cuh)              rows  a row of any length and alignment, by 256 threads in three passes
//   cols_held  columns in a block's registers (columns.cuh)         cols  of any height: a pass for the maximum and the sum, a second for the result, which reads
//                                                                         from L2 what is still there; cols_unaligned: the same by single columns
//
// Measured on an H200 on prototypes of the loops (GB/s of x and y, medians of 4 rounds; torch in brackets), columns: 1024 x 1024 in registers by 512 threads and 32 bytes of a row 4.9 us in fp32 and bf16, of which
// 1024 threads took 5.3 and 5.7, 16 bytes of a row 7.8 and 5.9, clusters of four or eight blocks 5.5 and 5.3 at best (594, 601); 8192 x 8192 in two passes of 128 bytes of a row
// 2433 and 2243 (55, 28), of 64 and 32 less, by clusters of eight that read once 2383 and 2176. Here 6.1 us both, and 2402 and 1738 (18.4 and 20.2 us before); since then without
// divisions for a thread's place and with bf16's sums in fp32: not yet measured. Rows: held.cuh.
//
// bf16: exponentials by ex2.approx, 2 ulp of fp32; fp32: expf.
#ifndef RIDGE_SOFTMAX_KERNELS_CUH
#define RIDGE_SOFTMAX_KERNELS_CUH

#include "columns.cuh"
#include "held.cuh"
#include "ptx_ex2.cuh"
#include "ridge_softmax.cuh"

template <class T> __device__ __forceinline__ float exponential(float x) { return expf(x); }
template <> __device__ __forceinline__ float exponential<ridge_bf16>(float x) { return exp2_fast(1.44269504f * x); }

template <class T> __device__ __forceinline__ void softmax_row_held(const T *x, T *y, int64_t cols, typename joined<T>::type (*lanes)[32]) {
  typedef typename Held<T>::Pack Pack;
  const Held<T> row(x, cols);
  float top = -INFINITY, e[HELD][Held<T>::W];
  row.each([&](int, int u) {
#pragma unroll
    for (int k = 0; k < Held<T>::W; k++) top = fmaxf(top, load(row.at[u].at[k]));
  });
  top = (float)all_reduce((typename joined<T>::type)top, lanes[0], Max());
  float mine = 0;
  row.each([&](int, int u) {
    float part = 0;
#pragma unroll
    for (int k = 0; k < Held<T>::W; k++) part += e[u][k] = exponential<T>(load(row.at[u].at[k]) - top);
    mine += part;
  });
  const float inverse = (float)(1.0 / all_reduce((typename joined<T>::type)mine, lanes[1], Add()));
  row.each([&](int i, int u) {
    Pack p;
#pragma unroll
    for (int k = 0; k < Held<T>::W; k++) p.at[k] = element<T>::store(e[u][k] * inverse);
    ((Pack *)y)[i] = p;
  });
}

constexpr int TALL = 8;    // runs of a thread in registers
constexpr int NARROW = 16; // columns of such a block at most

// At most TALL times the rows that a block takes at once. fp32 keeps its exponentials in place of the elements, bf16, which would round them, calculates them twice.
template <class T> __device__ __forceinline__ void softmax_cols_held(const T *x, T *y, int64_t rows, int64_t cols, int64_t width, float *tops, typename joined<T>::type *sums) {
  constexpr int W = 16 / sizeof(T);
  constexpr bool KEEP = sizeof(T) == 4;
  const Columns at(width);
  const int64_t c = at.column(W);
  int here = 0; // runs of this thread
#pragma unroll
  for (int u = 0; u < TALL; u++)
    if (c < cols && at.down + u * at.high < rows) here = u + 1;
  const T *from = x + at.down * cols + c;
  T *to = y + at.down * cols + c;
  Run<T, W> v[TALL] = {};
  float top[W];
#pragma unroll
  for (int k = 0; k < W; k++) top[k] = -INFINITY;
#pragma unroll
  for (int u = 0; u < TALL; u++)
    if (u < here) v[u] = load_once((const Run<T, W> *)(from + u * at.high * cols));
#pragma unroll
  for (int u = 0; u < TALL; u++)
#pragma unroll
    for (int k = 0; k < W; k++)
      if (u < here) top[k] = fmaxf(top[k], load(v[u].at[k]));
  at.join_all(top, tops, Max());
  float part[W] = {};
#pragma unroll
  for (int u = 0; u < TALL; u++)
    if (u < here)
#pragma unroll
      for (int k = 0; k < W; k++) {
        const float e = exponential<T>(load(v[u].at[k]) - top[k]);
        if (KEEP) v[u].at[k] = element<T>::store(e);
        part[k] += e;
      }
  typename joined<T>::type sum[W];
  float inverse[W];
#pragma unroll
  for (int k = 0; k < W; k++) sum[k] = part[k];
  at.join_all(sum, sums, Add());
#pragma unroll
  for (int k = 0; k < W; k++) inverse[k] = (float)(1 / sum[k]);
#pragma unroll
  for (int u = 0; u < TALL; u++) {
    Run<T, W> r;
#pragma unroll
    for (int k = 0; k < W; k++) {
      const float e = load(v[u].at[k]);
      r.at[k] = element<T>::store((KEEP ? e : exponential<T>(e - top[k])) * inverse[k]);
    }
    if (u < here) *(Run<T, W> *)(to + u * at.high * cols) = r;
  }
}

// Any number of rows. A thread's sum is that of exp(x − its maximum until now), multiplied by exp(old − new) where a turn of rows raises the maximum.
template <class T, int N> __device__ __forceinline__ void softmax_cols(const T *x, T *y, int64_t rows, int64_t cols, int64_t width, float *tops, typename joined<T>::type *sums) {
  constexpr int TURN = 4;
  const Columns at(width);
  const int64_t c = at.column(N), begin = c < cols ? at.down : rows;
  float top[N];
  typename joined<T>::type sum[N];
#pragma unroll
  for (int k = 0; k < N; k++) top[k] = -INFINITY, sum[k] = 0;
  for (int64_t r = begin; r < rows; r += TURN * at.high) {
    Run<T, N> v[TURN] = {};
#pragma unroll
    for (int u = 0; u < TURN; u++)
      if (r + u * at.high < rows) v[u] = *(const Run<T, N> *)(x + (r + u * at.high) * cols + c);
#pragma unroll
    for (int k = 0; k < N; k++) {
      float e[TURN], most = top[k], part = 0;
#pragma unroll
      for (int u = 0; u < TURN; u++) {
        e[u] = r + u * at.high < rows ? load(v[u].at[k]) : -INFINITY;
        most = fmaxf(most, e[u]);
      }
      if (most == -INFINITY) continue; // nothing but −∞ yet
#pragma unroll
      for (int u = 0; u < TURN; u++) part += exponential<T>(e[u] - most);
      sum[k] = sum[k] * exponential<T>(top[k] - most) + part;
      top[k] = most;
    }
  }
  float all[N], inverse[N];
#pragma unroll
  for (int k = 0; k < N; k++) all[k] = top[k];
  at.join_all(all, tops, Max());
#pragma unroll
  for (int k = 0; k < N; k++) sum[k] = top[k] == -INFINITY ? 0 : sum[k] * exponential<T>(top[k] - all[k]);
  at.join_all(sum, sums, Add());
#pragma unroll
  for (int k = 0; k < N; k++) inverse[k] = (float)(1 / sum[k]);
  for (int64_t r = begin; r < rows; r += TURN * at.high) {
    Run<T, N> v[TURN] = {};
#pragma unroll
    for (int u = 0; u < TURN; u++)
      if (r + u * at.high < rows) v[u] = load_once((const Run<T, N> *)(x + (r + u * at.high) * cols + c));
#pragma unroll
    for (int u = 0; u < TURN; u++) {
      if (r + u * at.high >= rows) break;
      Run<T, N> p;
#pragma unroll
      for (int k = 0; k < N; k++) p.at[k] = element<T>::store(exponential<T>(load(v[u].at[k]) - all[k]) * inverse[k]);
      *(Run<T, N> *)(y + (r + u * at.high) * cols + c) = p;
    }
  }
}

#define RIDGE_SOFTMAX(prefix, T)                                                                            \
  RIDGE_KERNEL(prefix##_rows, 256)(const T *x, T *y, int64_t rows, int64_t cols) {                          \
    RIDGE_SHARED(double, lanes, [8]);                                                                       \
    if (blockIdx.x >= rows) return;                                                                         \
    softmax_line(x + blockIdx.x * cols, y + blockIdx.x * cols, cols, cols, lanes);                          \
  }                                                                                                         \
  RIDGE_ENTRY(prefix##_rows)                                                                                \
  RIDGE_KERNEL(prefix##_rows_held, 1024)(const T *x, T *y, int64_t rows, int64_t cols) {                    \
    RIDGE_SHARED(joined<T>::type, lanes, [2][32]);                                                          \
    if (blockIdx.x >= rows) return;                                                                         \
    softmax_row_held(x + blockIdx.x * cols, y + blockIdx.x * cols, cols, lanes);                            \
  }                                                                                                         \
  RIDGE_ENTRY(prefix##_rows_held)                                                                           \
  RIDGE_KERNEL(prefix##_cols_held, 512)(const T *x, T *y, int64_t rows, int64_t cols, int64_t width) {      \
    RIDGE_SHARED(float, tops, [16 * NARROW]);                                                               \
    RIDGE_SHARED(joined<T>::type, sums, [16 * NARROW]);                                                     \
    softmax_cols_held(x, y, rows, cols, width, tops, sums);                                                 \
  }                                                                                                         \
  RIDGE_ENTRY(prefix##_cols_held)                                                                           \
  RIDGE_KERNEL(prefix##_cols, 512)(const T *x, T *y, int64_t rows, int64_t cols, int64_t width) {           \
    RIDGE_SHARED(float, tops, [16 * COLUMNS]);                                                              \
    RIDGE_SHARED(joined<T>::type, sums, [16 * COLUMNS]);                                                    \
    softmax_cols<T, 16 / sizeof(T)>(x, y, rows, cols, width, tops, sums);                                   \
  }                                                                                                         \
  RIDGE_ENTRY(prefix##_cols)                                                                                \
  RIDGE_KERNEL(prefix##_cols_unaligned, 512)(const T *x, T *y, int64_t rows, int64_t cols, int64_t width) { \
    RIDGE_SHARED(float, tops, [16 * COLUMNS]);                                                              \
    RIDGE_SHARED(joined<T>::type, sums, [16 * COLUMNS]);                                                    \
    softmax_cols<T, 1>(x, y, rows, cols, width, tops, sums);                                                \
  }                                                                                                         \
  RIDGE_ENTRY(prefix##_cols_unaligned)

#endif
