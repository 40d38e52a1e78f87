// The bodies of reduce_DTYPE_simt.cu: sum (and mean), max and min over lines of x. FLOP: 1 an element;
// bytes: x once. The memory's bandwidth binds.
//
// Two launches. The first reduces each of parts pieces of every line to one fp64 value of the workspace,
// partial[line · parts + part]; the second reduces a line's parts in order and writes y = value / divisor.
// The order is fixed by the shape, so the same bits come every time. fp32 and bf16 sums: LongSum.
//
//   rows: a line is n contiguous elements. Grid (lines, parts), 256 threads along the line.
//   cols: line c is x[0..n)[c], rows of cols elements. Grid (cols / 32, parts), a block is 32 columns × 8 rows.
#ifndef RIDGE_REDUCE_KERNELS_CUH
#define RIDGE_REDUCE_KERNELS_CUH

#include "ridge_reduce.cuh"

enum { SUM, MAX, MIN };

template <class T, int KIND> struct Fold;
template <class T> struct Fold<T, SUM> {
  typename sum_of<T>::type s;
  __device__ __forceinline__ void add(T x) { s.add(load(x)); }
  __device__ __forceinline__ double value() const { return s.value(); }
  static __device__ __forceinline__ double join(double a, double b) { return a + b; }
};
template <class T> struct Fold<T, MAX> {
  double m = -INFINITY;
  __device__ __forceinline__ void add(T x) { m = fmax(m, (double)load(x)); }
  __device__ __forceinline__ double value() const { return m; }
  static __device__ __forceinline__ double join(double a, double b) { return fmax(a, b); }
};
template <class T> struct Fold<T, MIN> {
  double m = INFINITY;
  __device__ __forceinline__ void add(T x) { m = fmin(m, (double)load(x)); }
  __device__ __forceinline__ double value() const { return m; }
  static __device__ __forceinline__ double join(double a, double b) { return fmin(a, b); }
};

// The piece of n elements that part takes.
__device__ __forceinline__ void piece(int64_t n, int64_t parts, int64_t part, int64_t *from, int64_t *to) {
  const int64_t each = (n + parts - 1) / parts;
  *from = min(n, part * each);
  *to = min(n, *from + each);
}

template <class T, int KIND> __device__ __forceinline__ void reduce_rows(const T *x, double *partial, int64_t n, double *lanes) {
  typedef Fold<T, KIND> F;
  const int64_t line = blockIdx.x, parts = gridDim.y, part = blockIdx.y;
  int64_t from, to;
  piece(n, parts, part, &from, &to);
  F f;
  for (int64_t i = from + threadIdx.x; i < to; i += 256) f.add(x[line * n + i]);
  const double v = block_reduce(f.value(), lanes, [](double a, double b) { return F::join(a, b); });
  if (threadIdx.x == 0) partial[line * parts + part] = v;
}

template <class T, int KIND>
__device__ __forceinline__ void reduce_cols(const T *x, double *partial, int64_t n, int64_t cols, double (*tile)[33]) {
  typedef Fold<T, KIND> F;
  const int64_t c = (int64_t)blockIdx.x * 32 + threadIdx.x, parts = gridDim.y, part = blockIdx.y;
  int64_t from, to;
  piece(n, parts, part, &from, &to);
  F f;
  if (c < cols)
    for (int64_t r = from + threadIdx.y; r < to; r += 8) f.add(x[r * cols + c]);
  tile[threadIdx.y][threadIdx.x] = f.value();
  __syncthreads();
  if (threadIdx.y != 0 || c >= cols) return;
  double v = tile[0][threadIdx.x];
  for (int k = 1; k < 8; k++) v = F::join(v, tile[k][threadIdx.x]);
  partial[c * parts + part] = v;
}

// One thread a line: parts are few.
template <class T, int KIND>
__device__ __forceinline__ void reduce_parts(const double *partial, T *y, int64_t lines, int64_t parts, double divisor) {
  typedef Fold<T, KIND> F;
  for (int64_t line = global_thread(); line < lines; line += all_threads()) {
    double v = partial[line * parts];
    for (int64_t p = 1; p < parts; p++) v = F::join(v, partial[line * parts + p]);
    y[line] = element<T>::store((typename element<T>::wide)(v / divisor));
  }
}

#define RIDGE_REDUCE(prefix, T, name, KIND)                                                                              \
  RIDGE_KERNEL(prefix##_rows_##name, 256)(const T *x, double *partial, int64_t n) {                                      \
    RIDGE_SHARED(double, lanes, [8]);                                                                                    \
    reduce_rows<T, KIND>(x, partial, n, lanes);                                                                          \
  }                                                                                                                      \
  RIDGE_ENTRY(prefix##_rows_##name)                                                                                      \
  RIDGE_KERNEL(prefix##_cols_##name, 256)(const T *x, double *partial, int64_t n, int64_t cols) {                        \
    RIDGE_SHARED(double, tile, [8][33]);                                                                                 \
    reduce_cols<T, KIND>(x, partial, n, cols, tile);                                                                     \
  }                                                                                                                      \
  RIDGE_ENTRY(prefix##_cols_##name)                                                                                      \
  RIDGE_KERNEL(prefix##_parts_##name, 256)(const double *partial, T *y, int64_t lines, int64_t parts, double divisor) {  \
    reduce_parts<T, KIND>(partial, y, lines, parts, divisor);                                                            \
  }                                                                                                                      \
  RIDGE_ENTRY(prefix##_parts_##name)

#define RIDGE_REDUCE_ALL(prefix, T)  \
  RIDGE_REDUCE(prefix, T, sum, SUM) \
  RIDGE_REDUCE(prefix, T, max, MAX) \
  RIDGE_REDUCE(prefix, T, min, MIN)

#endif
