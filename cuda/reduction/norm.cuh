// The bodies of norm_DTYPE_simt.cu and add_norm_DTYPE_simt.cu over x[rows, cols].
//
//   layer_norm  y = (x − mean) / sqrt(var + ε)·γ + β along a row; 7 FLOP an element
//   rms_norm    y = x / sqrt(mean x² + ε)·γ along a row; 4 FLOP an element
//   add_…_norm  z = x + r, y = the norm of z; 1 FLOP and two moved elements more
//
// Bytes: x read once, y written once. A block takes a row. The entries …_held keep it in registers (held.cuh); the others take rows of any length and
// alignment with 256 threads, which read it three times (twice): rows up to about 100 KB are still in L1 or L2 then. Sums: at most 32 elements in fp32, then fp64; a
// held row of bf16 stays in fp32. Where that gives no finite number, as for numbers of 2e19 and up, whose squares fp32 does not hold, a row is summed once more in fp64.
// The memory's bandwidth binds.
#ifndef RIDGE_NORM_CUH
#define RIDGE_NORM_CUH

#include "held.cuh"

__device__ __forceinline__ float inverse_root(double squares, int64_t cols, float eps) {
  const double mean = squares / (double)cols;
  return mean < 1e38 ? 1.0f / sqrtf((float)mean + eps) : (float)(1 / sqrt(mean));
}

struct Itself {
  template <class N> __device__ __forceinline__ N operator()(N x) const { return x; }
};
struct Square {
  template <class N> __device__ __forceinline__ N operator()(N x) const { return x * x; }
};
struct SquareFrom { // of the difference: E[x²] − E[x]² would cancel
  float mean;
  template <class N> __device__ __forceinline__ N operator()(N x) const { return (x - mean) * (x - mean); }
};

// A row in memory, of 256 threads; sums as Held's.
template <class T> struct Line {
  const T *x;
  int64_t cols;
  template <class F> __device__ __forceinline__ double sum(double *lanes, F f) const {
    LongSum s;
    for (int64_t i = threadIdx.x; i < cols; i += 256) s.add(f(load(x[i])));
    return block_reduce(s.value(), lanes, Add());
  }
  template <class F> __device__ __forceinline__ double wide_sum(F f) const {
    RIDGE_SHARED(double, lanes, [8]);
    double s = 0;
    for (int64_t i = threadIdx.x; i < cols; i += 256) s += f((double)load(x[i]));
    return block_reduce(s, lanes, Add());
  }
};

template <class R, class L, class F> __device__ __forceinline__ double row_sum(const R &row, L *lanes, F f) {
  const double s = row.sum(lanes, f);
  return fabs(s) < INFINITY ? s : row.wide_sum(f); // the same for the whole block
}

template <class T>
__device__ __forceinline__ void layer_norm(const T *line, const T *gamma, const T *beta, T *y, int64_t cols, float eps, double *lanes) {
  const Line<T> row = {line, cols};
  const float mean = (float)(row_sum(row, lanes, Itself()) / (double)cols);
  const float f = inverse_root(row_sum(row, lanes, SquareFrom{mean}), cols, eps);
  for (int64_t i = threadIdx.x; i < cols; i += 256) y[i] = element<T>::store((load(line[i]) - mean) * (f * load(gamma[i])) + load(beta[i]));
}

template <class T> __device__ __forceinline__ void rms_norm(const T *line, const T *gamma, T *y, int64_t cols, float eps, double *lanes) {
  const float f = inverse_root(row_sum(Line<T>{line, cols}, lanes, Square()), cols, eps);
  for (int64_t i = threadIdx.x; i < cols; i += 256) y[i] = element<T>::store(load(line[i]) * (f * load(gamma[i])));
}

// z = x + r as it is stored, which the norm then reads: a thread reads back what it wrote itself.
template <class T> __device__ __forceinline__ void add_row(const T *x, const T *r, T *z, int64_t cols) {
  for (int64_t i = threadIdx.x; i < cols; i += 256) z[i] = element<T>::store(load(x[i]) + load(r[i]));
}

template <class T>
__device__ __forceinline__ void layer_norm_held(const Held<T> &row, const T *gamma, const T *beta, T *y, int64_t cols, float eps, typename joined<T>::type (*lanes)[32]) {
  typedef typename Held<T>::Pack Pack;
  const float mean = (float)(row_sum(row, lanes[0], Itself()) / (double)cols);
  const float f = inverse_root(row_sum(row, lanes[1], SquareFrom{mean}), cols, eps);
  row.each([&](int i, int u) {
    const Pack g = ((const Pack *)gamma)[i], b = ((const Pack *)beta)[i];
    Pack p;
#pragma unroll
    for (int k = 0; k < Held<T>::W; k++) p.at[k] = element<T>::store((load(row.at[u].at[k]) - mean) * (f * load(g.at[k])) + load(b.at[k]));
    ((Pack *)y)[i] = p;
  });
}

template <class T> __device__ __forceinline__ void rms_norm_held(const Held<T> &row, const T *gamma, T *y, int64_t cols, float eps, typename joined<T>::type (*lanes)[32]) {
  typedef typename Held<T>::Pack Pack;
  const float f = inverse_root(row_sum(row, lanes[0], Square()), cols, eps);
  row.each([&](int i, int u) {
    const Pack g = ((const Pack *)gamma)[i];
    Pack p;
#pragma unroll
    for (int k = 0; k < Held<T>::W; k++) p.at[k] = element<T>::store(load(row.at[u].at[k]) * (f * load(g.at[k])));
    ((Pack *)y)[i] = p;
  });
}

// The sum as it is stored.
template <class T> __device__ __forceinline__ Held<T> added(const T *x, const T *r, T *z, int64_t cols) {
  typedef typename Held<T>::Pack Pack;
  Held<T> row(x, cols);
  const Held<T> more(r, cols);
  row.each([&](int i, int u) {
#pragma unroll
    for (int k = 0; k < Held<T>::W; k++) row.at[u].at[k] = element<T>::store(load(row.at[u].at[k]) + load(more.at[u].at[k]));
    ((Pack *)z)[i] = row.at[u];
  });
  return row;
}

#define RIDGE_NORM(prefix, T)                                                                                                             \
  RIDGE_KERNEL(prefix##_layer_norm, 256)(const T *x, const T *gamma, const T *beta, T *y, int64_t rows, int64_t cols, double eps) {       \
    RIDGE_SHARED(double, lanes, [8]);                                                                                                     \
    if (blockIdx.x >= rows) return;                                                                                                       \
    layer_norm(x + blockIdx.x * cols, gamma, beta, y + blockIdx.x * cols, cols, (float)eps, lanes);                                       \
  }                                                                                                                                       \
  RIDGE_ENTRY(prefix##_layer_norm)                                                                                                        \
  RIDGE_KERNEL(prefix##_rms_norm, 256)(const T *x, const T *gamma, T *y, int64_t rows, int64_t cols, double eps) {                        \
    RIDGE_SHARED(double, lanes, [8]);                                                                                                     \
    if (blockIdx.x >= rows) return;                                                                                                       \
    rms_norm(x + blockIdx.x * cols, gamma, y + blockIdx.x * cols, cols, (float)eps, lanes);                                               \
  }                                                                                                                                       \
  RIDGE_ENTRY(prefix##_rms_norm)                                                                                                          \
  RIDGE_KERNEL(prefix##_layer_norm_held, 1024)(const T *x, const T *gamma, const T *beta, T *y, int64_t rows, int64_t cols, double eps) { \
    RIDGE_SHARED(joined<T>::type, lanes, [2][32]);                                                                                                 \
    if (blockIdx.x >= rows) return;                                                                                                       \
    layer_norm_held(Held<T>(x + blockIdx.x * cols, cols), gamma, beta, y + blockIdx.x * cols, cols, (float)eps, lanes);                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(prefix##_layer_norm_held)                                                                                                   \
  RIDGE_KERNEL(prefix##_rms_norm_held, 1024)(const T *x, const T *gamma, T *y, int64_t rows, int64_t cols, double eps) {                  \
    RIDGE_SHARED(joined<T>::type, lanes, [1][32]);                                                                                                 \
    if (blockIdx.x >= rows) return;                                                                                                       \
    rms_norm_held(Held<T>(x + blockIdx.x * cols, cols), gamma, y + blockIdx.x * cols, cols, (float)eps, lanes);                           \
  }                                                                                                                                       \
  RIDGE_ENTRY(prefix##_rms_norm_held)

#define RIDGE_ADD_NORM(prefix, T)                                                                                                              \
  RIDGE_KERNEL(prefix##_add_layer_norm, 256)                                                                                                   \
  (const T *x, const T *r, const T *gamma, const T *beta, T *z, T *y, int64_t rows, int64_t cols, double eps) {                                \
    RIDGE_SHARED(double, lanes, [8]);                                                                                                          \
    if (blockIdx.x >= rows) return;                                                                                                            \
    const int64_t row = blockIdx.x * cols;                                                                                                     \
    add_row(x + row, r + row, z + row, cols);                                                                                                  \
    layer_norm(z + row, gamma, beta, y + row, cols, (float)eps, lanes);                                                                        \
  }                                                                                                                                            \
  RIDGE_ENTRY(prefix##_add_layer_norm)                                                                                                         \
  RIDGE_KERNEL(prefix##_add_rms_norm, 256)(const T *x, const T *r, const T *gamma, T *z, T *y, int64_t rows, int64_t cols, double eps) {       \
    RIDGE_SHARED(double, lanes, [8]);                                                                                                          \
    if (blockIdx.x >= rows) return;                                                                                                            \
    const int64_t row = blockIdx.x * cols;                                                                                                     \
    add_row(x + row, r + row, z + row, cols);                                                                                                  \
    rms_norm(z + row, gamma, y + row, cols, (float)eps, lanes);                                                                                \
  }                                                                                                                                            \
  RIDGE_ENTRY(prefix##_add_rms_norm)                                                                                                           \
  RIDGE_KERNEL(prefix##_add_layer_norm_held, 512)                                                                                             \
  (const T *x, const T *r, const T *gamma, const T *beta, T *z, T *y, int64_t rows, int64_t cols, double eps) {                                \
    RIDGE_SHARED(joined<T>::type, lanes, [2][32]);                                                                                                      \
    if (blockIdx.x >= rows) return;                                                                                                            \
    const int64_t row = blockIdx.x * cols;                                                                                                     \
    layer_norm_held(added(x + row, r + row, z + row, cols), gamma, beta, y + row, cols, (float)eps, lanes);                                    \
  }                                                                                                                                            \
  RIDGE_ENTRY(prefix##_add_layer_norm_held)                                                                                                    \
  RIDGE_KERNEL(prefix##_add_rms_norm_held, 512)(const T *x, const T *r, const T *gamma, T *z, T *y, int64_t rows, int64_t cols, double eps) { \
    RIDGE_SHARED(joined<T>::type, lanes, [1][32]);                                                                                                      \
    if (blockIdx.x >= rows) return;                                                                                                            \
    const int64_t row = blockIdx.x * cols;                                                                                                     \
    rms_norm_held(added(x + row, r + row, z + row, cols), gamma, y + row, cols, (float)eps, lanes);                                            \
  }                                                                                                                                            \
  RIDGE_ENTRY(prefix##_add_rms_norm_held)

#endif
