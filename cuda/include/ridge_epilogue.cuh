// What products and convolutions do with a sum before it is stored.
//
//   floats     y = act(alpha·sum + beta·add + bias[channel])
//   int32      y = sum + add + bias[channel], which wraps
//   int8       y = round(scale[channel]·(float)(sum + bias[channel])), saturated to [-128, 127], with ReLU to [0, 127]
//
// add is a tensor of y's shape (a residual, or D of a product); add and bias may be null. Per element 1 to 3 instructions
// and what the activation takes (gelu about 40), against 2·K of the sum.
#ifndef RIDGE_EPILOGUE_CUH
#define RIDGE_EPILOGUE_CUH

#include "ridge_act.cuh"

// fp64 products have no activation (op.GemmSpec).
__device__ __forceinline__ double activate(int, double x) { return x; }

template <class T> struct Epilogue {
  typedef typename element<T>::wide wide;
  const T *add, *bias;
  wide alpha, beta;
  int act;
  __device__ __forceinline__ wide operator()(wide sum, int64_t at, int64_t channel) const {
    wide v = alpha * sum;
    if (add) v += beta * load(add[at]);
    if (bias) v += load(bias[channel]);
    return activate(act, v);
  }
};

template <> struct Epilogue<int32_t> {
  const int32_t *add, *bias;
  __device__ __forceinline__ int32_t operator()(int32_t sum, int64_t at, int64_t channel) const {
    unsigned v = (unsigned)sum;
    if (add) v += (unsigned)add[at];
    if (bias) v += (unsigned)bias[channel];
    return (int32_t)v;
  }
};

// The conversion and the product round once each, to nearest; the bounds are whole numbers, so they may come first.
__device__ __forceinline__ int8_t requantise(int32_t sum, float scale, bool relu) {
  const float v = (float)sum * scale;
  return (int8_t)rintf(fminf(fmaxf(v, relu ? 0.0f : -128.0f), 127.0f));
}

#endif
