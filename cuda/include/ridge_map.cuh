// y[i] = f(a[i], b[i]) over n contiguous elements: the loop of all streaming kernels.
//
// The memory's bandwidth must bind, so many bytes have to be in flight: by Little's law
// bandwidth × latency, about 4 TB/s × 600 ns = 2.4 MB or 18 KB an SM. Sixteen bytes a load and
// two to four loads before the first store give 32 to 64 B a thread: 8 blocks of 256 threads an SM
// hold 64 to 128 KB. More loads make ptxas spill (bf16: 32 elements in registers, fp64: addresses). 
// Packs need 16-byte alignment of all three; else, and in the tail, one element at a time. y may be a or b (programs work in
// place), so none is __restrict__; a thread loads what it replaces before it stores.
#ifndef RIDGE_MAP_CUH
#define RIDGE_MAP_CUH

#include "ridge_cuda.cuh"

template <int INPUTS, class T, class F>
__device__ __forceinline__ void ridge_map(int64_t n, const T *a, const T *b, T *y, F f) {
  constexpr int W = 16 / sizeof(T), UNROLL = INPUTS > 1 || sizeof(T) == 2 ? 2 : 4, THREADS = 256; // of the launch
  const int64_t t = global_thread(), all = all_threads();
  int64_t done = 0;
  if ((((uintptr_t)a | (uintptr_t)b | (uintptr_t)y) & 15) == 0) {
    const pack<T> *pa = (const pack<T> *)a, *pb = (const pack<T> *)b;
    pack<T> *py = (pack<T> *)y;
    // A block takes tiles of UNROLL × THREADS packs: the loads of a thread differ by constants.
    const int64_t packs = n / W, tiles = packs / (UNROLL * THREADS);
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const int64_t i = tile * (UNROLL * THREADS) + threadIdx.x;
      pack<T> va[UNROLL], vb[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        if (INPUTS > 0) va[u] = load_pack(pa + i + u * THREADS);
        if (INPUTS > 1) vb[u] = load_pack(pb + i + u * THREADS);
      }
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        pack<T> r;
#pragma unroll
        for (int k = 0; k < W; k++) r.at[k] = f(INPUTS > 0 ? va[u].at[k] : T(), INPUTS > 1 ? vb[u].at[k] : T());
        store_pack(py + i + u * THREADS, r);
      }
    }
    for (int64_t i = tiles * (UNROLL * THREADS) + t; i < packs; i += all) {
      pack<T> va, vb, r;
      if (INPUTS > 0) va = load_pack(pa + i);
      if (INPUTS > 1) vb = load_pack(pb + i);
#pragma unroll
      for (int k = 0; k < W; k++) r.at[k] = f(INPUTS > 0 ? va.at[k] : T(), INPUTS > 1 ? vb.at[k] : T());
      store_pack(py + i, r);
    }
    done = packs * W;
  }
  for (int64_t i = done + t; i < n; i += all) {
    T va = T(), vb = T();
    if (INPUTS > 0) va = a[i];
    if (INPUTS > 1) vb = b[i];
    y[i] = f(va, vb);
  }
}

#endif
