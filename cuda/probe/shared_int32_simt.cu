// y[b] = the wrapping sum of a block's words of shared memory over all passes; block b first writes word i = 2654435761·(i + b·words).
// Reads of 16 bytes a lane, lanes side by side: no bank conflicts, 128 bytes a cycle and multiprocessor. FLOP: 0. Bytes: 4 a word and pass.
// A pass is a load and four additions for each 16 bytes: 4 cycles of the banks a warp against 2 of the adders on 8.0 and 9.0.
// words is a multiple of 4.
// Versions: 32.3 TB/s on an H200 (four blocks of 32 KiB a multiprocessor, 400 passes), of 33.5 at 128 bytes a cycle; four loads before their additions, two of which
// share an instruction: 28.3.
#include "ridge_reduce.cuh"

constexpr int THREADS = 512;

// volatile: the words do not change between passes, and the load must not be moved out of the loop.
static __device__ __forceinline__ pack<unsigned> read_shared(const pack<unsigned> *p) {
#if defined(RIDGE_MODEL)
  return load_pack(p);
#else
  pack<unsigned> v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.at[0]), "=r"(v.at[1]), "=r"(v.at[2]), "=r"(v.at[3])
               : "r"((unsigned)__cvta_generic_to_shared(p))
               : "memory");
  return v;
#endif
}

RIDGE_KERNEL(shared_int32_simt, THREADS)(int64_t words, int64_t passes, int32_t *y) {
  RIDGE_DYNAMIC_SHARED(unsigned, memory);
  RIDGE_SHARED(unsigned, sums, [THREADS / 32]);
  for (int64_t i = threadIdx.x; i < words; i += THREADS) memory[i] = 2654435761u * (unsigned)(i + blockIdx.x * words);
  __syncthreads();
  const pack<unsigned> *packs = (const pack<unsigned> *)memory;
  const int n = (int)(words / 4);
  unsigned s[4] = {};
  for (int64_t pass = 0; pass < passes; pass++)
#pragma unroll 4
    for (int i = threadIdx.x; i < n; i += THREADS) {
      const pack<unsigned> v = read_shared(packs + i);
#pragma unroll
      for (int k = 0; k < 4; k++) s[k] += v.at[k];
    }
  const unsigned mine = warp_reduce(s[0] + s[1] + s[2] + s[3], Add());
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned all = 0;
  for (int w = 0; w < THREADS / 32; w++) all += sums[w];
  y[blockIdx.x] = (int32_t)all;
}
RIDGE_ENTRY(shared_int32_simt)
