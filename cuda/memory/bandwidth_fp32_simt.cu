// The probe behind the memory ceilings: passes runs over a working set, each block on its own contiguous part, so that a part that fits
// the first-level cache stays there (two blocks of 512 threads a multiprocessor share the working set / SMs; of reads groups of blocks that have it all
// share the passes). Of parts above 32 KiB the first-level
// caches of two blocks would hold some: they are read past them (ld.cg), so that each pass comes from the second level or memory.
//
//   read   y[0] = the wrapping sum of a's 32-bit words over all passes     copy   y = a, its bits XORed with the pass
//   write  y = 3 + pass                                                      triad  y = a + (3 + pass)·b
//   update y in place: 3 in the first pass, in each further one its bits plus the number of the pass less one
//
// nt_… stores with st.cs. FLOP: 2 an element of triad. Bytes: 4, 4, 8 and 12 an element and pass,
// of update 8, 4 in the first.
// In flight: 64 bytes a thread, 64 KB a multiprocessor (ridge_map.cuh has the need): four loads of 16 bytes, or two of each of triad's
// arrays. Four of each spill on 12.0, where ptxas keeps to 64 registers a thread.
// In a single pass, which working sets beyond the caches have, a block writes 512 packs, one a thread, and ends; reading stays with two blocks a multiprocessor
// (memory.go). On an H200, prototypes, 128 MiB an array: copied so 4003 GB/s, by blocks that stay 3697 at most; triad of 85 MiB 4112 and 3768; reading 256 MiB by blocks that stay 4160, by
// blocks that end 4100 at most.
// An H200 (132 multiprocessors, 1.98 GHz), reads of many passes: 31.2 TB/s from first-level caches (64 KiB a multiprocessor; 33.5 at 128 bytes a cycle), 8.6 from
// 30 MiB in the second level, 4.29 from 1 GiB of DRAM in one pass; in launches of 64 MB, of 7 and 11 us, 9.0 and 5.8. Groups that share the passes are not yet measured.
// Packs need 16-byte alignment of all arrays; else, and in the tail, one element at a time.
#include "ptx_memory.cuh"
#include "ridge_reduce.cuh"

enum { READ_ONLY, WRITE, COPY, TRIAD, UPDATE };
constexpr int THREADS = 512;
constexpr int64_t NEAR = 32 << 10; // bytes of a block's part of an array that its first-level cache may hold

__device__ __forceinline__ bool is_far(int64_t n) { return n * 4 > NEAR * gridDim.x; }

template <int ACCESS> __device__ __forceinline__ float result(int64_t pass, float a, float b) {
  if (ACCESS == WRITE) return (float)(3 + pass);
  if (ACCESS == COPY) return __uint_as_float(__float_as_uint(a) ^ (unsigned)pass);
  if (ACCESS == UPDATE) return pass == 0 ? 3.f : __uint_as_float(__float_as_uint(a) + (unsigned)(pass - 1));
  return fmaf((float)(3 + pass), b, a);
}

// visit(element or pack index, whether it is a pack) for everything that this thread has of n elements.
template <int UNROLL, class P, class E> __device__ __forceinline__ void own(int64_t n, bool aligned, P packs_at, E element_at) {
  const int64_t packs = aligned ? n / 4 : 0, each = (packs + gridDim.x - 1) / gridDim.x;
  const int64_t from = min(packs, blockIdx.x * each), to = min(packs, from + each);
  int64_t i = from + threadIdx.x;
  for (; i + (UNROLL - 1) * THREADS < to; i += UNROLL * THREADS) packs_at(i, UNROLL);
  for (; i < to; i += THREADS) packs_at(i, 1);
  for (int64_t t = 4 * packs + global_thread(); t < n; t += all_threads()) element_at(t);
}

template <int ACCESS, bool STREAMING, bool FAR>
__device__ __forceinline__ void move_all(int64_t n, int64_t passes, const float *a, const float *b, float *y) {
  constexpr int UNROLL = ACCESS == TRIAD ? 2 : 4;
  const bool aligned = (((uintptr_t)a | (uintptr_t)b | (uintptr_t)y) & 15) == 0;
  const pack<float> *pa = (const pack<float> *)a, *pb = (const pack<float> *)b;
  pack<float> *py = (pack<float> *)y;
  for (int64_t pass = 0; pass < passes; pass++)
    own<UNROLL>(
        n, aligned,
        [&](int64_t i, int count) {
          pack<float> va[UNROLL] = {}, vb[UNROLL] = {};
#pragma unroll
          for (int u = 0; u < UNROLL; u++) {
            if (u >= count) break;
            if (ACCESS != WRITE && (ACCESS != UPDATE || pass > 0)) va[u] = load_again<FAR>(pa + i + u * THREADS);
            if (ACCESS == TRIAD) vb[u] = load_again<FAR>(pb + i + u * THREADS);
          }
#pragma unroll
          for (int u = 0; u < UNROLL; u++) {
            if (u >= count) break;
            pack<float> r;
#pragma unroll
            for (int k = 0; k < 4; k++) r.at[k] = result<ACCESS>(pass, va[u].at[k], vb[u].at[k]);
            store_again<STREAMING>(py + i + u * THREADS, r);
          }
        },
        [&](int64_t t) { y[t] = result<ACCESS>(pass, ACCESS == WRITE || (ACCESS == UPDATE && pass == 0) ? 0 : a[t], ACCESS == TRIAD ? b[t] : 0); });
}

template <int ACCESS, bool STREAMING>
__device__ __forceinline__ void move(int64_t n, int64_t passes, const float *a, const float *b, float *y) {
  if (ACCESS != WRITE && is_far(n))
    move_all<ACCESS, STREAMING, true>(n, passes, a, b, y);
  else
    move_all<ACCESS, STREAMING, false>(n, passes, a, b, y);
}

#define MOVE(name, ACCESS, STREAMING)                                                                                        \
  RIDGE_KERNEL(bandwidth_fp32_simt_##name, 512)(int64_t n, int64_t passes, const float *a, const float *b, float *y) {      \
    move<ACCESS, STREAMING>(n, passes, a, b, y);                                                                             \
  }                                                                                                                          \
  RIDGE_ENTRY(bandwidth_fp32_simt_##name)

MOVE(write, WRITE, false)
MOVE(nt_write, WRITE, true)
MOVE(copy, COPY, false)
MOVE(nt_copy, COPY, true)
MOVE(triad, TRIAD, false)
MOVE(nt_triad, TRIAD, true)
MOVE(update, UPDATE, false)

// add the words of N packs to four sums, a word of its own each: two additions in one instruction.
template <int N> __device__ __forceinline__ void add_all(unsigned (&s)[4], const pack<float> (&v)[N]) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (N % 2) s[k] += __float_as_uint(v[N - 1].at[k]);
#pragma unroll
    for (int u = 0; u + 1 < N; u += 2) s[k] += __float_as_uint(v[u].at[k]) + __float_as_uint(v[u + 1].at[k]);
  }
}

constexpr int AHEAD = 4; // loads of 16 bytes of a thread in flight

// A thread that has no more than AHEAD packs reads K of them again and again, of so many passes together that AHEAD loads are in flight. ptxas minds no
// volatile of inline PTX: loads from one address it does once before the loop. It does not know that pass stays below 2^40.
template <bool FAR, int K> __device__ __forceinline__ void read_again(unsigned (&s)[4], int64_t passes, const pack<float> *p) {
  constexpr int TOGETHER = AHEAD / K;
  pack<float> v[TOGETHER * K], one[K];
  int64_t pass = 0;
  for (; pass + TOGETHER <= passes; pass += TOGETHER) {
#pragma unroll
    for (int u = 0; u < TOGETHER * K; u++) v[u] = load_again<FAR>(p + ((pass + u / K) >> 40) + u % K * THREADS);
    add_all(s, v);
  }
  for (; pass < passes; pass++) {
#pragma unroll
    for (int u = 0; u < K; u++) one[u] = load_again<FAR>(p + (pass >> 40) + u * THREADS);
    add_all(s, one);
  }
}

// Groups of sharing blocks have the whole array each, every block its part of it, and take the passes in turn: however small the array is, all
// multiprocessors read.
template <bool FAR> __device__ __forceinline__ unsigned read_all(int64_t n, int64_t passes, int64_t sharing, const float *a) {
  unsigned s[4] = {};
  const int64_t groups = gridDim.x / sharing, group = blockIdx.x / sharing, member = blockIdx.x % sharing;
  const int64_t mine = passes / groups + (group < passes % groups);
  const int64_t packs = ((uintptr_t)a & 15) == 0 ? n / 4 : 0, each = (packs + sharing - 1) / sharing;
  const int64_t from = min(packs, member * each), part = min(packs, from + each) - from;
  const pack<float> *p = (const pack<float> *)a + from + threadIdx.x;
  if (part <= AHEAD * THREADS) {
    const int64_t own = part > threadIdx.x ? (part - threadIdx.x + THREADS - 1) / THREADS : 0;
    if (own == 4) read_again<FAR, 4>(s, mine, p);
    if (own == 3) read_again<FAR, 3>(s, mine, p);
    if (own == 2) read_again<FAR, 2>(s, mine, p);
    if (own == 1) read_again<FAR, 1>(s, mine, p);
  } else {
    for (int64_t pass = 0; pass < mine; pass++) {
      int64_t i = threadIdx.x;
      const pack<float> *q = p;
      for (; i + (AHEAD - 1) * THREADS < part; i += AHEAD * THREADS, q += AHEAD * THREADS) {
        pack<float> v[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) v[u] = load_again<FAR>(q + u * THREADS);
        add_all(s, v);
      }
      for (; i < part; i += THREADS, q += THREADS) {
        const pack<float> v[1] = {load_again<FAR>(q)};
        add_all(s, v);
      }
    }
  }
  for (int64_t pass = 0; pass < mine; pass++)
    for (int64_t t = 4 * packs + member * THREADS + threadIdx.x; t < n; t += sharing * THREADS) s[0] += __float_as_uint(*(const volatile float *)(a + t));
  return s[0] + s[1] + s[2] + s[3];
}

// The block's sum goes to partial[block]. The grid is a multiple of sharing.
RIDGE_KERNEL(bandwidth_fp32_simt_read, 512)(int64_t n, int64_t passes, int64_t sharing, const float *a, int64_t *partial) {
  RIDGE_SHARED(unsigned, sums, [THREADS / 32]);
  const bool far = n * 4 > NEAR * sharing;
  const unsigned mine = warp_reduce(far ? read_all<true>(n, passes, sharing, a) : read_all<false>(n, passes, sharing, a), Add());
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned all = 0;
  for (int w = 0; w < THREADS / 32; w++) all += sums[w];
  partial[blockIdx.x] = all;
}
RIDGE_ENTRY(bandwidth_fp32_simt_read)

RIDGE_KERNEL(bandwidth_fp32_simt_sum, 32)(const int64_t *partial, int64_t blocks, int32_t *y) {
  unsigned s = 0;
  for (int64_t i = threadIdx.x; i < blocks; i += 32) s += (unsigned)partial[i];
  s = warp_reduce(s, Add());
  if (threadIdx.x == 0) y[0] = (int32_t)s;
}
RIDGE_ENTRY(bandwidth_fp32_simt_sum)
