// The body of stream_DTYPE_simt.cu: copy, fill, add_scalar and the STREAM kernels over n contiguous
// elements, y = f(a, b). Bytes: 2 or 3 arrays of n (fill: 1). FLOP: 0 to 2 an element.
// The memory's bandwidth binds (see ridge_map.cuh).
//
// Versions, on H200s, arrays of 1 GiB beside the peer: 8 blocks a multiprocessor, 2 to 4 packs a thread: copy 3948 GB/s, 0.926 of cudaMemcpy; triad 4062, 0.932 of
// torch.add. A block a tile of one pack a thread: 4266, 1.007; 4386, 1.000.
#ifndef RIDGE_STREAM_CUH
#define RIDGE_STREAM_CUH

#include "ridge_map.cuh"

// Moves keep the bits: nothing is widened.
#define RIDGE_STREAM(entry, T, INPUTS, expression)                                                          \
  RIDGE_KERNEL(entry, 256)(int64_t n, const T *a, const T *b, T *y, double scalar) {                        \
    typedef element<T>::wide wide;                                                                          \
    const wide s = (wide)scalar;                                                                            \
    (void)s;                                                                                                \
    ridge_map<INPUTS>(n, a, b, y, [s](T p, T q) -> T { (void)p; (void)q; (void)s; return expression; });    \
  }                                                                                                         \
  RIDGE_ENTRY(entry)

#endif
