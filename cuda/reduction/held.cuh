// A row in the registers of a block: each thread holds HELD packs of 16 bytes, all asked for before the first is used, so that a row is read once and 64 bytes a
// thread are in flight. The plan (reduction.go) takes as many threads, a power of two, 128 at least, as the row needs: rows to 4096 packs, 64 KiB.
// Rows and arrays begin at multiples of 16 bytes.
//
// Measured on an H200 on prototypes of the loops (GB/s of x and y, medians of 4 rounds; softmax and layer_norm of 8192 x 8192, rows of 8192 elements): 4 packs a thread fp32 4006 and 3932, bf16 3914 and 3454 (with
// fp32 joins 3520); 2 packs 3801 and 2330, 3708 and 2711; 8 packs 3102 and 3766, 2849 and 3589. Blocks that stay and ask for their next row before they work on this one 3646 and
// 3628, 3458 and 3009; rows by bulk copies to a ring in shared memory 3599 and 3588, 3351 and 3465; no_allocate on the loads 1 to 5 % slower, st.cs within that either way. torch
// 1803 and 2253, 994 and 2051. Here, on memory as it lay: softmax, layer_norm and rms_norm of 8192 x 8192 fp32 4043, 3793 and 4023, bf16 3988, 3610 and 3903 (beside torch, on random data: softmax bf16 4018 and
// torch 1036, layer_norm bf16 3739 and 2280; three passes over the row had 1935 and 1861); 16384 x 16384 softmax fp32 4156, layer_norm fp32 3094, bf16 3522: gamma and beta of such rows,
// from the second-level cache for each, take a part of it. Rows of 1024 elements: 128 threads of 2 packs (fp32) or 1 (bf16), 2.9 and 3.4 us, 2.4 and 2.7; a warp a row 3.7 and 4.5, 2.4 and 3.1; here 3.0 and 3.5, 3.0 and 3.3.
#ifndef RIDGE_HELD_CUH
#define RIDGE_HELD_CUH

#include "ridge_reduce.cuh"

constexpr int HELD = 4;

// Sums of a block's threads: what bf16 rounds away needs no more than fp32.
template <class T> struct joined {
  typedef double type;
};
template <> struct joined<ridge_bf16> {
  typedef float type;
};

template <class T> struct Held {
  static constexpr int W = 16 / sizeof(T);
  typedef Run<T, W> Pack;
  Pack at[HELD];
  int packs; // of the row

  // A row that is read once.
  __device__ __forceinline__ Held(const T *row, int64_t cols) : at{}, packs((int)(cols / W)) {
    each([&](int i, int u) { at[u] = ((const Pack *)row)[i]; });
  }

  // f(where the thread's pack u lies, u) for each that it has.
  template <class F> __device__ __forceinline__ void each(F f) const {
#pragma unroll
    for (int u = 0; u < HELD; u++) {
      const int i = threadIdx.x + u * blockDim.x;
      if (i < packs) f(i, u);
    }
  }

  // The sum of f(x) over the row, for all threads. A thread's elements, 32 at most, are added in fp32, four or eight by themselves; the rest as joined.
  template <class F> __device__ __forceinline__ double sum(typename joined<T>::type *lanes, F f) const {
    float s = 0;
    each([&](int, int u) {
      float p = f(load(at[u].at[0]));
#pragma unroll
      for (int k = 1; k < W; k++) p += f(load(at[u].at[k]));
      s += p;
    });
    return all_reduce((typename joined<T>::type)s, lanes, Add());
  }

  // The same in fp64, for sums that leave fp32's range. Calls have a barrier between them.
  template <class F> __device__ __forceinline__ double wide_sum(F f) const {
    RIDGE_SHARED(double, lanes, [32]);
    double s = 0;
    each([&](int, int u) {
#pragma unroll
      for (int k = 0; k < W; k++) s += f((double)load(at[u].at[k]));
    });
    return all_reduce(s, lanes, Add());
  }
};

#endif
