// y[i] = f(a[i], b[i]) over n contiguous elements: the loop of all streaming kernels.
//
// The memory's bandwidth must bind, so many bytes have to be in flight: by Little's law bandwidth × latency, about 4.5 TB/s × 800 ns = 3.6 MB or 27 KB an SM. A thread
// moves one pack of 16 bytes of each array, and a full multiprocessor's 2048 threads 32 KB of each. Blocks are as many as that takes (kernel.MapGrid):
// started in order, they keep near each other in memory, which blocks that stay and stride through the arrays lose by and by.
// Measured on an H200 on prototypes of the loops (GB/s, medians of 4 rounds in one process): arrays of 1 GiB copied by 8 blocks of 256 a multiprocessor with 4 packs a thread at once 3792, by a block a
// tile with 4 packs 4006, with 2 4066, with 1 4212 (cudaMemcpy 4007); triad 3952, 4215, 4248, 4278 (torch.add 3967); 128 MiB copied 3653, 3802, 3883, 4006. Loads and stores with
// hints for the caches (no_allocate, cs, evict_first) are slower at 1 GiB and at best equal below.
//
// Versions: 8 blocks a multiprocessor, 2 to 4 packs a thread; a block a tile of one pack a thread.
// Packs need 16-byte alignment of all three; else, and in the tail, one element at a time. y may be a or b (programs work in
// place), so none is __restrict__; a thread loads what it replaces before it stores.
#ifndef RIDGE_MAP_CUH
#define RIDGE_MAP_CUH

#include "ridge_cuda.cuh"

template <int INPUTS, class T, class F>
__device__ __forceinline__ void ridge_map(int64_t n, const T *a, const T *b, T *y, F f) {
  constexpr int W = 16 / sizeof(T);
  const int64_t t = global_thread(), all = all_threads();
  int64_t done = 0;
  if ((((uintptr_t)a | (uintptr_t)b | (uintptr_t)y) & 15) == 0) {
    const pack<T> *pa = (const pack<T> *)a, *pb = (const pack<T> *)b;
    const int64_t packs = n / W;
#pragma unroll 1
    for (int64_t i = t; i < packs; i += all) {
      pack<T> va, vb, r;
      if (INPUTS > 0) va = load_pack(pa + i);
      if (INPUTS > 1) vb = load_pack(pb + i);
#pragma unroll
      for (int k = 0; k < W; k++) r.at[k] = f(INPUTS > 0 ? va.at[k] : T(), INPUTS > 1 ? vb.at[k] : T());
      store_pack((pack<T> *)y + i, r);
    }
    done = packs * W;
  }
#pragma unroll 1
  for (int64_t i = done + t; i < n; i += all) {
    T va = T(), vb = T();
    if (INPUTS > 0) va = a[i];
    if (INPUTS > 1) vb = b[i];
    y[i] = f(va, vb);
  }
}

#endif
