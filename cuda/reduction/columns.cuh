// Lines along the columns of x[rows, cols]: a block has width runs of N neighbouring columns and takes as many rows at a time as that leaves threads; width is a power of
// two. N elements are 16 bytes where rows begin at multiples of them, else N is 1 and a warp takes 32 columns.
#ifndef RIDGE_COLUMNS_CUH
#define RIDGE_COLUMNS_CUH

#include "ptx_memory.cuh"
#include "ridge_reduce.cuh"

constexpr int COLUMNS = 64; // of a block at most: width · N

struct Columns {
  int width, across, down, high; // threads across the columns; this thread's place; rows at a time

  __device__ __forceinline__ explicit Columns(int64_t w) : width((int)w), across(threadIdx.x & (width - 1)), down(threadIdx.x), high(blockDim.x) {
    for (int d = 1; d < width; d *= 2) down >>= 1, high >>= 1; // five turns at most, where a division takes as many as twenty instructions
  }

  // The first column of this thread, of runs of n.
  __device__ __forceinline__ int64_t column(int n) const { return ((int64_t)blockIdx.x * width + across) * n; }

  // Joins v over all threads of the same columns, in a fixed order: thread t, below width · N, gets that of the block's column t. tile is shared memory for a value of each
  // of the block's columns and warps, and none of the call before.
  template <int N, class V, class F> __device__ __forceinline__ V join(V (&v)[N], V *tile, F f) const {
    for (int d = width; d < 32; d *= 2)
#pragma unroll
      for (int k = 0; k < N; k++) v[k] = f(v[k], of_lane(v[k], d));
    const int lane = threadIdx.x % 32, columns = width * N, warps = blockDim.x / 32;
    if (lane < width)
#pragma unroll
      for (int k = 0; k < N; k++) tile[threadIdx.x / 32 * columns + lane * N + k] = v[k];
    __syncthreads();
    V all = v[0];
    if ((int)threadIdx.x < columns) {
      all = tile[threadIdx.x];
#pragma unroll 8
      for (int w = 1; w < warps; w++) all = f(all, tile[w * columns + threadIdx.x]);
    }
    return all;
  }

  // … and every thread gets those of its columns.
  template <int N, class V, class F> __device__ __forceinline__ void join_all(V (&v)[N], V *tile, F f) const {
    const V all = join(v, tile, f);
    if ((int)threadIdx.x < width * N) tile[threadIdx.x] = all; // which no other thread reads
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = tile[across * N + k];
  }
};

#endif
