// A convolution's numbers as kernels take them; goharness/op.Conv has their meaning.
#ifndef RIDGE_CONV_SHAPE_CUH
#define RIDGE_CONV_SHAPE_CUH

#include "ridge_epilogue.cuh"

struct ConvShape {
  int64_t n, c, h, w, k, r, s, ho, wo, stride, pad, dilation, groups;
  __device__ __forceinline__ int64_t group_channels() const { return c / groups; }
  __device__ __forceinline__ int64_t window() const { return c / groups * r * s; } // terms of a sum
};

#define RIDGE_CONV_SHAPE                                                                                                        \
  int64_t n, int64_t c, int64_t h, int64_t width, int64_t k_all, int64_t r, int64_t s_taps, int64_t ho, int64_t wo, int64_t stride, \
      int64_t pad, int64_t dilation, int64_t groups
#define RIDGE_CONV_VALUES (ConvShape{n, c, h, width, k_all, r, s_taps, ho, wo, stride, pad, dilation, groups})

#endif
