// The bodies of reduce_DTYPE_simt.cu: sum (and mean), max and min over lines of x. FLOP: 1 an element;
// bytes: x once. The memory's bandwidth binds.
//
// The launch reduces each of parts pieces of every line. Of one piece it writes y = value / divisor; of several the fp64 values
// partial[line · parts + part] of the workspace, and a second launch joins a line's, by one block.
// Measured on an H200 on prototypes of the loops (medians of 4 rounds; torch in brackets): all of 1 GiB fp32 by 8 blocks of 256 threads a multiprocessor that take turns 4416 GB/s, with a
// contiguous part each 4359, by blocks that end after 64 to 256 KiB 4204 to 4352 (3962); all of 1024 x 1024 in two launches 3.1 us, in one whose last block joins the
// parts 3.4 (6.9); rows of 1024 by 128 threads 2.1 us, by 256 2.4 (3.5); columns of 1024 by 512 threads and 32 bytes of a row 2.8 us, by 128 bytes 3.6 (7.5); columns of
// 8192 by 512 threads and 128 bytes 4040 GB/s with 8 rows a thread at once, 3711 with 4 (3282). Here: all of 1 GiB 4535 GB/s, 1.036 of torch.sum; all of 8192 x 8192 4365,
// its columns 3875; 1024 x 1024: all 5.2 us, columns 6.0, rows 2.6, with a join whose threads loop over parts and with two launches for the columns; with a part a thread and one
// launch not yet measured. Versions: an element at a time in contiguous pieces had 3815, 0.888, and 2800.
//
// The order is fixed by the shape, so the same bits come every time. fp32 and bf16 sums: at most 32 elements in fp32, as a tree, then fp64; fp64 sums: with what each addition loses, between lanes
// and parts too, so that the error does not grow with the length.
//
//   rows: a line is n contiguous elements. Grid (lines, parts), the threads along the line, TURN loads of 16 bytes each before the first is used.
//   cols: line c is x[0..n)[c], rows of cols elements. Grid (columns / the block's, parts): columns.cuh.
#ifndef RIDGE_REDUCE_KERNELS_CUH
#define RIDGE_REDUCE_KERNELS_CUH

#include "columns.cuh"

enum { SUM, MAX, MIN };
constexpr int TURN = 4;      // packs of a thread at once along a row
constexpr int TALL_TURN = 8; // and down a column

// The sum of x[FROM .. FROM + N), halves first; N is a power of two.
template <int FROM, int N, int ALL> __device__ __forceinline__ float sum_halves(const float (&x)[ALL]) {
  if constexpr (N == 1)
    return x[FROM];
  else
    return sum_halves<FROM, N / 2>(x) + sum_halves<FROM + N / 2, N / 2>(x);
}

// add takes N values at once, idle() changes none; lane is what lanes join, of(x) that of one value.
template <class T, int KIND> struct Fold;
template <class T> struct Fold<T, SUM> {
  typedef double lane;
  double whole = 0;
  static __device__ __forceinline__ float idle() { return 0; }
  template <int N> __device__ __forceinline__ void add(const float (&x)[N]) { whole += sum_halves<0, N>(x); }
  __device__ __forceinline__ lane value() const { return whole; }
  static __device__ __forceinline__ lane of(double x) { return x; }
  static __device__ __forceinline__ lane join(lane a, lane b) { return a + b; }
};
template <> struct Fold<double, SUM> {
  typedef ExactSum lane;
  lane s = {};
  static __device__ __forceinline__ double idle() { return 0; }
  template <int N> __device__ __forceinline__ void add(const double (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) s.add(x[i]);
  }
  __device__ __forceinline__ lane value() const { return s; }
  static __device__ __forceinline__ lane of(double x) { return {x, 0}; }
  static __device__ __forceinline__ lane join(lane a, lane b) { return a + b; }
};
template <class T> struct Fold<T, MAX> {
  typedef typename element<T>::wide wide;
  typedef double lane;
  wide m = -INFINITY;
  static __device__ __forceinline__ wide idle() { return -INFINITY; }
  template <int N> __device__ __forceinline__ void add(const wide (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) m = fmax(m, x[i]);
  }
  __device__ __forceinline__ lane value() const { return m; }
  static __device__ __forceinline__ lane of(double x) { return x; }
  static __device__ __forceinline__ lane join(lane a, lane b) { return fmax(a, b); }
};
template <class T> struct Fold<T, MIN> {
  typedef typename element<T>::wide wide;
  typedef double lane;
  wide m = INFINITY;
  static __device__ __forceinline__ wide idle() { return INFINITY; }
  template <int N> __device__ __forceinline__ void add(const wide (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) m = fmin(m, x[i]);
  }
  __device__ __forceinline__ lane value() const { return m; }
  static __device__ __forceinline__ lane of(double x) { return x; }
  static __device__ __forceinline__ lane join(lane a, lane b) { return fmin(a, b); }
};

// The rows of n that part takes.
__device__ __forceinline__ void piece(int64_t n, int64_t parts, int64_t part, int64_t *from, int64_t *to) {
  const int64_t each = (n + parts - 1) / parts;
  *from = min(n, part * each);
  *to = min(n, *from + each);
}

// turn(v, first) for TURN runs of 16 bytes and the places of their first elements (-1: there is none), single(place) for the elements before and behind them, of
// the n elements of x: the blocks of a line (blockIdx.y) take turns.
template <class T, class F, class S> __device__ __forceinline__ void along(const T *x, int64_t n, F turn, S single) {
  constexpr int W = 16 / sizeof(T);
  const int64_t lead = min(n, (int64_t)((16 - ((uintptr_t)x & 15)) & 15) / (int64_t)sizeof(T)), runs = (n - lead) / W;
  const Run<T, W> *p = (const Run<T, W> *)(x + lead);
  const int threads = blockDim.x;
  const int64_t t = (int64_t)blockIdx.y * threads + threadIdx.x, all = (int64_t)gridDim.y * threads;
  for (int64_t i = (int64_t)blockIdx.y * (TURN * threads) + threadIdx.x; i < runs; i += TURN * all) {
    Run<T, W> v[TURN] = {};
    int64_t first[TURN];
#pragma unroll
    for (int u = 0; u < TURN; u++) {
      first[u] = i + u * threads < runs ? lead + (i + u * threads) * W : -1;
      if (first[u] >= 0) v[u] = load_once(p + i + u * threads);
    }
    turn(v, first);
  }
  for (int64_t i = t; i < lead; i += all) single(i);
  for (int64_t i = lead + runs * W + t; i < n; i += all) single(i);
}

// A sum is not divided: one division in fp64 takes longer than the last step of the join.
template <class T> __device__ __forceinline__ T result_of(double v, double divisor) {
  if (divisor != 1) v /= divisor;
  return element<T>::store((typename element<T>::wide)v);
}

// One part is the line's value, of several each is kept.
template <class T>
__device__ __forceinline__ void end_piece(double v, double *partial, T *y, int64_t line, double divisor) {
  if (gridDim.y > 1)
    partial[line * gridDim.y + blockIdx.y] = v;
  else
    y[line] = result_of<T>(v, divisor);
}

template <class T, int KIND>
__device__ __forceinline__ void reduce_rows(const T *x, double *partial, T *y, int64_t n, double divisor, typename Fold<T, KIND>::lane *lanes) {
  typedef Fold<T, KIND> F;
  typedef typename element<T>::wide wide;
  constexpr int W = 16 / sizeof(T);
  const T *line = x + blockIdx.x * n;
  F f;
  along(
      line, n,
      [&](const Run<T, W>(&v)[TURN], const int64_t(&first)[TURN]) {
        wide e[TURN * W];
#pragma unroll
        for (int u = 0; u < TURN; u++)
#pragma unroll
          for (int k = 0; k < W; k++) e[u * W + k] = first[u] >= 0 ? load(v[u].at[k]) : F::idle();
        f.add(e);
      },
      [&](int64_t i) {
        const wide e[1] = {load(line[i])};
        f.add(e);
      });
  typedef typename F::lane lane;
  const lane v = all_reduce(f.value(), lanes, [](lane a, lane b) { return F::join(a, b); });
  if (threadIdx.x == 0) end_piece(value_of(v), partial, y, blockIdx.x, divisor);
}

template <class T, int KIND, int N>
__device__ __forceinline__ void reduce_cols(const T *x, double *partial, T *y, int64_t n, int64_t cols, int64_t width, double divisor, typename Fold<T, KIND>::lane *tile) {
  typedef Fold<T, KIND> F;
  typedef typename F::lane lane;
  typedef typename element<T>::wide wide;
  const Columns at(width);
  const int64_t c = at.column(N);
  int64_t from, to;
  piece(n, gridDim.y, blockIdx.y, &from, &to);
  F f[N];
  if (c < cols)
    for (int64_t r = from + at.down; r < to; r += TALL_TURN * at.high) {
      Run<T, N> v[TALL_TURN] = {};
#pragma unroll
      for (int u = 0; u < TALL_TURN; u++)
        if (r + u * at.high < to) v[u] = load_once((const Run<T, N> *)(x + (r + u * at.high) * cols + c));
#pragma unroll
      for (int k = 0; k < N; k++) {
        wide e[TALL_TURN];
#pragma unroll
        for (int u = 0; u < TALL_TURN; u++) e[u] = r + u * at.high < to ? load(v[u].at[k]) : F::idle();
        f[k].add(e);
      }
    }
  lane mine[N];
#pragma unroll
  for (int k = 0; k < N; k++) mine[k] = f[k].value();
  const lane v = at.join(mine, tile, [](lane a, lane b) { return F::join(a, b); });
  const int64_t line = (int64_t)blockIdx.x * at.width * N + threadIdx.x;
  if ((int)threadIdx.x < at.width * N && line < cols) end_piece(value_of(v), partial, y, line, divisor);
}

// A block a line.
template <class T, int KIND> __device__ __forceinline__ void reduce_parts(const double *partial, T *y, int64_t parts, double divisor, typename Fold<T, KIND>::lane *lanes) {
  typedef Fold<T, KIND> F;
  typedef typename F::lane lane;
  lane v = F::of(F::idle());
  for (int64_t p = threadIdx.x; p < parts; p += blockDim.x) v = F::join(v, F::of(partial[blockIdx.x * parts + p]));
  v = all_reduce(v, lanes, [](lane a, lane b) { return F::join(a, b); });
  if (threadIdx.x == 0) y[blockIdx.x] = result_of<T>(value_of(v), divisor);
}

#define RIDGE_REDUCE(prefix, T, name, KIND)                                                                                                   \
  RIDGE_KERNEL(prefix##_rows_##name, 256) (const T *x, double *partial, T *y, int64_t n, double divisor) {                                   \
    typedef Fold<T, KIND>::lane lane;                                                                                                         \
    RIDGE_SHARED(lane, lanes, [32]);                                                                                                          \
    reduce_rows<T, KIND>(x, partial, y, n, divisor, lanes);                                                                                   \
  }                                                                                                                                           \
  RIDGE_ENTRY(prefix##_rows_##name)                                                                                                           \
  RIDGE_KERNEL(prefix##_cols_##name, 512)(const T *x, double *partial, T *y, int64_t n, int64_t cols, int64_t width, double divisor) {        \
    typedef Fold<T, KIND>::lane lane;                                                                                                         \
    RIDGE_SHARED(lane, tile, [16 * COLUMNS]);                                                                                                 \
    reduce_cols<T, KIND, 16 / sizeof(T)>(x, partial, y, n, cols, width, divisor, tile);                                                       \
  }                                                                                                                                           \
  RIDGE_ENTRY(prefix##_cols_##name)                                                                                                           \
  RIDGE_KERNEL(prefix##_cols_unaligned_##name, 512)(const T *x, double *partial, T *y, int64_t n, int64_t cols, int64_t width, double divisor) { \
    typedef Fold<T, KIND>::lane lane;                                                                                                         \
    RIDGE_SHARED(lane, tile, [16 * COLUMNS]);                                                                                                 \
    reduce_cols<T, KIND, 1>(x, partial, y, n, cols, width, divisor, tile);                                                                    \
  }                                                                                                                                           \
  RIDGE_ENTRY(prefix##_cols_unaligned_##name)                                                                                                 \
  RIDGE_KERNEL(prefix##_parts_##name, 256)(const double *partial, T *y, int64_t parts, double divisor) {                                      \
    typedef Fold<T, KIND>::lane lane;                                                                                                         \
    RIDGE_SHARED(lane, lanes, [32]);                                                                                                          \
    reduce_parts<T, KIND>(partial, y, parts, divisor, lanes);                                                                                 \
  }                                                                                                                                           \
  RIDGE_ENTRY(prefix##_parts_##name)

#define RIDGE_REDUCE_ALL(prefix, T)  \
  RIDGE_REDUCE(prefix, T, sum, SUM) \
  RIDGE_REDUCE(prefix, T, max, MAX) \
  RIDGE_REDUCE(prefix, T, min, MIN)

#endif
