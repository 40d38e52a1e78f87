// The body of dot_DTYPE_simt.cu: y[0] = Σ a[i]·b[i] over n elements. FLOP: 2 an element; bytes: both
// arrays once. The memory's bandwidth binds. Two launches: a block sums a piece to one fp64 value of the
// workspace; the second sums these in order, so that the same bits come every time.
#ifndef RIDGE_DOT_CUH
#define RIDGE_DOT_CUH

#include "ridge_reduce.cuh"

#define RIDGE_DOT(prefix, T)                                                                                              \
  RIDGE_KERNEL(prefix##_pieces, 256)(int64_t n, const T *a, const T *b, double *partial) {                                \
    RIDGE_SHARED(sum_of<T>::type::lane, lanes, [8]);                                                                      \
    sum_of<T>::type s = {};                                                                                               \
    for (int64_t i = global_thread(); i < n; i += all_threads()) s.add(a[i] * b[i]);                                      \
    const double v = value_of(block_reduce(s.joint(), lanes, Add()));                                                     \
    if (threadIdx.x == 0) partial[blockIdx.x] = v;                                                                        \
  }                                                                                                                       \
  RIDGE_ENTRY(prefix##_pieces)                                                                                            \
  RIDGE_KERNEL(prefix##_sum, 256)(const double *partial, int64_t pieces, T *y) {                                          \
    RIDGE_SHARED(ExactSum, lanes, [8]);                                                                                   \
    ExactSum s = {};                                                                                                      \
    for (int64_t i = threadIdx.x; i < pieces; i += 256) s.add(partial[i]);                                                \
    const double v = block_reduce(s, lanes, Add()).value();                                                               \
    if (threadIdx.x == 0) y[0] = (T)v;                                                                                    \
  }                                                                                                                       \
  RIDGE_ENTRY(prefix##_sum)

#endif
