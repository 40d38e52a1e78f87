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

// s += x; lost takes in what the addition loses (Knuth's two-sum), NaN where s is infinite or NaN.
template <class T> __device__ __forceinline__ void two_sum(T &s, T &lost, T x) {
  const T t = s + x, d = t - s;
  lost += (s - (t - d)) + (x - d);
  s = t;
}

// A sum of fp32 values whose error does not grow with their number, whatever their signs: 32 are added in fp32 with what that loses, then
// carried on in fp64 (one slow fp64 addition for 32 loads, also where fp64 runs at 1/64).
struct LongSum {
  typedef double lane; // what lanes hand each other
  float part = 0, lost = 0;
  int n = 0;
  double whole = 0;
  __device__ __forceinline__ void add(float x) {
    two_sum(part, lost, x);
    if (++n == 32) whole = value(), part = lost = 0, n = 0;
  }
  __device__ __forceinline__ double value() const { return whole + (lost == lost ? (double)part + lost : part); }
  __device__ __forceinline__ lane joint() const { return value(); }
};

// fp64 values with what their additions lose.
struct ExactSum {
  typedef ExactSum lane;
  double s, lost; // no initial values: shared memory takes none
  __device__ __forceinline__ void add(double x) { two_sum(s, lost, x); }
  __device__ __forceinline__ double value() const { return lost == lost ? s + lost : s; }
  __device__ __forceinline__ lane joint() const { return *this; }
};
__device__ __forceinline__ ExactSum operator+(ExactSum a, ExactSum b) {
  a.add(b.s);
  a.lost += b.lost;
  return a;
}

template <class T> struct sum_of {
  typedef LongSum type;
};
template <> struct sum_of<double> {
  typedef ExactSum type;
};

__device__ __forceinline__ double value_of(double x) { return x; }
__device__ __forceinline__ double value_of(const ExactSum &s) { return s.value(); }

// v of the lane whose number differs by d.
template <class T> __device__ __forceinline__ T of_lane(T v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }
__device__ __forceinline__ ExactSum of_lane(ExactSum v, int d) { return {of_lane(v.s, d), of_lane(v.lost, d)}; }

template <class T, class F> __device__ __forceinline__ T warp_reduce(T v, F f) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v = f(v, of_lane(v, d));
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
  for (int d = warps / 2; d > 0; d /= 2) v = f(v, of_lane(v, d));
  return v;
}

#endif
