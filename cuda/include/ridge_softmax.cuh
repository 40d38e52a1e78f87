// The softmax of a line by a block of 256 threads.
#ifndef RIDGE_SOFTMAX_CUH
#define RIDGE_SOFTMAX_CUH

#include "ridge_reduce.cuh"

// y[i] = exp(x[i] − max) / Σ exp(x − max) over the first seen (at least 1 where n is) of n elements, 0 for the others. Three passes; y may be x. lanes: shared
// memory for 8 values.
template <class T> __device__ __forceinline__ void softmax_line(const T *x, T *y, int64_t seen, int64_t n, double *lanes) {
  float top = -INFINITY;
  for (int64_t i = threadIdx.x; i < seen; i += 256) top = fmaxf(top, load(x[i]));
  top = (float)block_reduce((double)top, lanes, Max());
  LongSum s;
  for (int64_t i = threadIdx.x; i < seen; i += 256) s.add(expf(load(x[i]) - top));
  const float inverse = (float)(1.0 / block_reduce(s.value(), lanes, Add()));
  for (int64_t i = threadIdx.x; i < n; i += 256) y[i] = element<T>::store(i < seen ? expf(load(x[i]) - top) * inverse : 0.0f);
}

#endif
