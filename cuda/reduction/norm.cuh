// The bodies of softmax_DTYPE_simt.cu, norm_DTYPE_simt.cu and add_norm_DTYPE_simt.cu over x[rows, cols].
//
//   softmax     y = exp(x − max) / Σ exp(x − max) along a line; 5 FLOP an element
//   layer_norm  y = (x − mean) / sqrt(var + ε)·γ + β along a row; 7 FLOP an element
//   rms_norm    y = x / sqrt(mean x² + ε)·γ along a row; 4 FLOP an element
//   add_…_norm  z = x + r, y = the norm of z; 1 FLOP and two moved elements more
//
// Bytes: x read once, y written once. A block of 256 threads takes a row and reads it three times;
// rows up to about 100 KB are still in L1 or L2 then, so the memory's bandwidth binds. Along columns a
// block takes 32 columns with 8 threads each. Sums as in LongSum.
#ifndef RIDGE_NORM_CUH
#define RIDGE_NORM_CUH

#include "ridge_softmax.cuh"

template <class T> __device__ __forceinline__ void softmax_rows(const T *x, T *y, int64_t rows, int64_t cols, double *lanes) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) softmax_line(x + r * cols, y + r * cols, cols, cols, lanes);
}

// Threads (32, 8): column c of 32, rows by 8.
template <class T> __device__ __forceinline__ void softmax_cols(const T *x, T *y, int64_t rows, int64_t cols, double (*tile)[33]) {
  const int64_t c = (int64_t)blockIdx.x * 32 + threadIdx.x;
  const int tx = threadIdx.x, ty = threadIdx.y;
  float top = -INFINITY;
  if (c < cols)
    for (int64_t r = ty; r < rows; r += 8) top = fmaxf(top, load(x[r * cols + c]));
  tile[ty][tx] = top;
  __syncthreads();
  for (int k = 0; k < 8; k++) top = fmaxf(top, (float)tile[k][tx]);
  __syncthreads();
  LongSum s;
  if (c < cols)
    for (int64_t r = ty; r < rows; r += 8) s.add(expf(load(x[r * cols + c]) - top));
  tile[ty][tx] = s.value();
  __syncthreads();
  double sum = 0;
  for (int k = 0; k < 8; k++) sum += tile[k][tx];
  const float inverse = (float)(1.0 / sum);
  if (c < cols)
    for (int64_t r = ty; r < rows; r += 8) y[r * cols + c] = element<T>::store(expf(load(x[r * cols + c]) - top) * inverse);
}

template <class T>
__device__ __forceinline__ void layer_norm(const T *x, const T *gamma, const T *beta, T *y, int64_t rows, int64_t cols, float eps, double *lanes) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *line = x + r * cols;
    LongSum s;
    for (int64_t i = threadIdx.x; i < cols; i += 256) s.add(load(line[i]));
    const float mean = (float)(block_reduce(s.value(), lanes, Add()) / (double)cols);
    LongSum q; // of the differences: E[x²] − E[x]² would cancel
    for (int64_t i = threadIdx.x; i < cols; i += 256) {
      const float d = load(line[i]) - mean;
      q.add(d * d);
    }
    const float f = 1.0f / sqrtf((float)(block_reduce(q.value(), lanes, Add()) / (double)cols) + eps);
    for (int64_t i = threadIdx.x; i < cols; i += 256)
      y[r * cols + i] = element<T>::store((load(line[i]) - mean) * (f * load(gamma[i])) + load(beta[i]));
  }
}

template <class T>
__device__ __forceinline__ void rms_norm(const T *x, const T *gamma, T *y, int64_t rows, int64_t cols, float eps, double *lanes) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *line = x + r * cols;
    LongSum q;
    for (int64_t i = threadIdx.x; i < cols; i += 256) {
      const float v = load(line[i]);
      q.add(v * v);
    }
    const float f = 1.0f / sqrtf((float)(block_reduce(q.value(), lanes, Add()) / (double)cols) + eps);
    for (int64_t i = threadIdx.x; i < cols; i += 256) y[r * cols + i] = element<T>::store(load(line[i]) * (f * load(gamma[i])));
  }
}

// z = x + r as it is stored, which the norm then reads: a thread reads back what it wrote itself.
template <class T> __device__ __forceinline__ void add_rows(const T *x, const T *r, T *z, int64_t rows, int64_t cols) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    for (int64_t i = row * cols + threadIdx.x; i < (row + 1) * cols; i += 256) z[i] = element<T>::store(load(x[i]) + load(r[i]));
}

#define RIDGE_ADD_NORM(prefix, T)                                                                                                     \
  RIDGE_KERNEL(prefix##_add_layer_norm, 256)                                                                                          \
  (const T *x, const T *r, const T *gamma, const T *beta, T *z, T *y, int64_t rows, int64_t cols, double eps) {                       \
    RIDGE_SHARED(double, lanes, [8]);                                                                                                 \
    add_rows(x, r, z, rows, cols);                                                                                                    \
    layer_norm(z, gamma, beta, y, rows, cols, (float)eps, lanes);                                                                     \
  }                                                                                                                                   \
  RIDGE_ENTRY(prefix##_add_layer_norm)                                                                                                \
  RIDGE_KERNEL(prefix##_add_rms_norm, 256)                                                                                            \
  (const T *x, const T *r, const T *gamma, T *z, T *y, int64_t rows, int64_t cols, double eps) {                                      \
    RIDGE_SHARED(double, lanes, [8]);                                                                                                 \
    add_rows(x, r, z, rows, cols);                                                                                                    \
    rms_norm(z, gamma, y, rows, cols, (float)eps, lanes);                                                                             \
  }                                                                                                                                   \
  RIDGE_ENTRY(prefix##_add_rms_norm)

#define RIDGE_SOFTMAX(prefix, T)                                                                              \
  RIDGE_KERNEL(prefix##_rows, 256)(const T *x, T *y, int64_t rows, int64_t cols) {                            \
    RIDGE_SHARED(double, lanes, [8]);                                                                         \
    softmax_rows(x, y, rows, cols, lanes);                                                                    \
  }                                                                                                           \
  RIDGE_ENTRY(prefix##_rows)                                                                                  \
  RIDGE_KERNEL(prefix##_cols, 256)(const T *x, T *y, int64_t rows, int64_t cols) {                            \
    RIDGE_SHARED(double, tile, [8][33]);                                                                      \
    softmax_cols(x, y, rows, cols, tile);                                                                     \
  }                                                                                                           \
  RIDGE_ENTRY(prefix##_cols)

#define RIDGE_NORM(prefix, T)                                                                                                      \
  RIDGE_KERNEL(prefix##_layer_norm, 256)                                                                                           \
  (const T *x, const T *gamma, const T *beta, T *y, int64_t rows, int64_t cols, double eps) {                                      \
    RIDGE_SHARED(double, lanes, [8]);                                                                                              \
    layer_norm(x, gamma, beta, y, rows, cols, (float)eps, lanes);                                                                  \
  }                                                                                                                                \
  RIDGE_ENTRY(prefix##_layer_norm)                                                                                                 \
  RIDGE_KERNEL(prefix##_rms_norm, 256)(const T *x, const T *gamma, T *y, int64_t rows, int64_t cols, double eps) {                 \
    RIDGE_SHARED(double, lanes, [8]);                                                                                              \
    rms_norm(x, gamma, y, rows, cols, (float)eps, lanes);                                                                          \
  }                                                                                                                                \
  RIDGE_ENTRY(prefix##_rms_norm)

#endif
