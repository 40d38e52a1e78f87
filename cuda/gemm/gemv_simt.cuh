// The body of gemv_DTYPE_simt.cu: y[m] = A[m,n]·x[n], A row-major. FLOP: 2·m·n; bytes: A once, x and y. The
// memory's bandwidth binds where there are rows enough: a warp takes a row and reads it in full lines.
#ifndef RIDGE_GEMV_CUH
#define RIDGE_GEMV_CUH

#include "ridge_reduce.cuh"

#define RIDGE_GEMV(entry, T)                                                                      \
  RIDGE_KERNEL(entry, 256)(int64_t m, int64_t n, const T *a, const T *x, T *y) {                  \
    for (int64_t row = global_thread() / 32; row < m; row += all_threads() / 32) {                \
      sum_of<T>::type s = {};                                                                     \
      for (int64_t k = threadIdx.x % 32; k < n; k += 32) s.add(a[row * n + k] * x[k]);            \
      const double v = value_of(warp_reduce(s.joint(), Add()));                                   \
      if (threadIdx.x % 32 == 0) y[row] = (T)v;                                                   \
    }                                                                                             \
  }                                                                                               \
  RIDGE_ENTRY(entry)

#endif
