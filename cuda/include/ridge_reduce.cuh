// Sums and extrema over a warp and a block, in a fixed order: the same bits every time.
#ifndef RIDGE_REDUCE_CUH
#define RIDGE_REDUCE_CUH

#include "ridge_cuda.cuh"

struct Add {
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};
struct Max {
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a > b ? a : b; }
};
struct Min {
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a < b ? a : b; }
};

template <class T, class F> __device__ __forceinline__ T warp_reduce(T v, F f) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v = f(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

// Every thread of a block of 256 gets the result; lanes is shared memory for 8 values. The barrier at
// the start lets calls follow each other.
template <class T, class F> __device__ __forceinline__ T block_reduce(T v, T *lanes, F f) {
  v = warp_reduce(v, f);
  __syncthreads();
  if (threadIdx.x % 32 == 0) lanes[threadIdx.x / 32] = v;
  __syncthreads();
  v = lanes[0];
#pragma unroll
  for (int w = 1; w < 8; w++) v = f(v, lanes[w]);
  return v;
}

// As block_reduce, by blocks of 1, 2, 4, … 32 warps and with one barrier: lanes, shared memory for 32 values, are not those of the call before.
template <class T, class F> __device__ __forceinline__ T all_reduce(T v, T *lanes, F f) {
  const int warps = blockDim.x / 32;
  v = warp_reduce(v, f);
  if (warps == 1) return v;
  if (threadIdx.x % 32 == 0) lanes[threadIdx.x / 32] = v;
  __syncthreads();
  v = lanes[threadIdx.x & (warps - 1)];
  for (int d = warps / 2; d > 0; d /= 2) v = f(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

// A sum of fp32 values whose error does not grow with their number: 32 are added in fp32, then
// carried on in fp64 (one slow fp64 addition for 32 loads, also where fp64 runs at 1/64).
struct LongSum {
  float part = 0;
  int n = 0;
  double whole = 0;
  __device__ __forceinline__ void add(float x) {
    part += x;
    if (++n == 32) whole += part, part = 0, n = 0;
  }
  __device__ __forceinline__ double value() const { return whole + part; }
};

// fp64 values with Neumaier's compensation (Knuth's two-sum).
struct ExactSum {
  double s = 0, c = 0;
  __device__ __forceinline__ void add(double x) {
    const double t = s + x, d = t - s;
    c += (s - (t - d)) + (x - d);
    s = t;
  }
  __device__ __forceinline__ double value() const { return s + c; }
};

template <class T> struct sum_of {
  typedef LongSum type;
};
template <> struct sum_of<double> {
  typedef ExactSum type;
};

#endif
