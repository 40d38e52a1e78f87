// What products and convolutions do with a sum before it is stored.
//
//   floats     y = act(alpha·sum + beta·add + bias[channel])
//   int32      y = sum + add + bias[channel], which wraps
//   int8       y = round(scale[channel]·(float)(sum + bias[channel])), saturated to [-128, 127], with ReLU to [0, 127]
//
// add is a tensor of y's shape (a residual, or D of a product); add and bias may be null. Per element 1 to 3 instructions
// and what the activation takes (ridge_act.cuh), against 2·K of the sum.
#ifndef RIDGE_EPILOGUE_CUH
#define RIDGE_EPILOGUE_CUH

#include "ridge_act.cuh"

// fp64 products have no activation (op.GemmSpec).
template <class T> __device__ __forceinline__ double activate_of(int, double x) { return x; }

// N neighbours from p on, of which left exist; packed: they are one load.
template <int N, class T> __device__ __forceinline__ Run<T, N> run_of(const T *p, int64_t left, bool packed) {
  if (packed && left >= N) return *(const Run<T, N> *)p;
  Run<T, N> v;
#pragma unroll
  for (int i = 0; i < N; i++) v.at[i] = i < left ? p[i] : T();
  return v;
}
template <class T, int N> __device__ __forceinline__ void store_run(T *p, const Run<T, N> &v, int64_t left, bool packed) {
  if (packed && left >= N) {
    *(Run<T, N> *)p = v;
    return;
  }
#pragma unroll
  for (int i = 0; i < N; i++)
    if (i < left) p[i] = v.at[i];
}

template <class T> struct Epilogue {
  typedef typename element<T>::wide wide;
  const T *add, *bias;
  wide alpha, beta;
  int act;
  __device__ __forceinline__ wide operator()(wide sum, int64_t at, int64_t channel) const {
    wide v = alpha * sum;
    if (add) v += beta * load(add[at]);
    if (bias) v += load(bias[channel]);
    return activate_of<T>(act, v);
  }
  // Of N neighbours, of which left exist; packed: N elements of add and bias are 16 bytes at a multiple of 16.
  template <int N> __device__ __forceinline__ Run<wide, N> all(const Run<wide, N> &sum, int64_t at, int64_t channel, int64_t left, bool packed) const {
    Run<wide, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) v.at[i] = alpha * sum.at[i];
    if (add) {
      const Run<T, N> x = run_of<N>(add + at, left, packed);
#pragma unroll
      for (int i = 0; i < N; i++) v.at[i] += beta * load(x.at[i]);
    }
    if (bias) {
      const Run<T, N> x = run_of<N>(bias + channel, left, packed);
#pragma unroll
      for (int i = 0; i < N; i++) v.at[i] += load(x.at[i]);
    }
    if (act != ACT_NONE) {
#pragma unroll
      for (int i = 0; i < N; i++) v.at[i] = activate_of<T>(act, v.at[i]);
    }
    return v;
  }
  // Whether runs of 16 bytes of rows of so many elements may be packed.
  __device__ __forceinline__ bool packs(int64_t columns) const {
    constexpr int N = 16 / sizeof(T);
    return (uintptr_t)add % 16 == 0 && (uintptr_t)bias % 16 == 0 && (!add || columns % N == 0);
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
