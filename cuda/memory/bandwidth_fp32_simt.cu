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
// In a single pass, which working sets beyond the caches have, a block writes 512 packs, one a thread, and ends (once_…, by the plan in memory.go); reading stays with two
// blocks a multiprocessor. On an H200, prototypes, 128 MiB an array: copied so 4003 GB/s, by blocks that stay 3697 at most; triad of 85 MiB 4112 and 3768; reading 256 MiB by blocks that stay 4160, by
// blocks that end 4100 at most. The entries once_… are not yet measured: the loop over passes, with its divisions, took 105 us for 128 MiB copied by a block for each
// 512 packs, y = a by ridge_map 67.
// An H200 (132 multiprocessors, 1.98 GHz), reads of many passes: 31.2 TB/s from first-level caches (64 KiB a multiprocessor; 33.5 at 128 bytes a cycle), 8.6 from
// 30 MiB in the second level, 4.29 from 1 GiB of DRAM in one pass; in launches of 64 MB, of 7 and 11 us, 9.0 and 5.8. Small arrays, whose groups of blocks share the
// passes: 18.0 from 8 KiB to 1 MiB (0.05 to 1.9 before), 25.5 from 48 KiB a multiprocessor (19.6).
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

// The only pass: a pack a thread, and the tail, or all that is not aligned, one element at a time.
template <int ACCESS, bool STREAMING> __device__ __forceinline__ void once(int64_t n, const float *a, const float *b, float *y) {
  const bool aligned = (((uintptr_t)a | (uintptr_t)b | (uintptr_t)y) & 15) == 0;
  const int64_t i = global_thread(), packs = aligned ? n / 4 : 0;
  constexpr bool READS = ACCESS == COPY || ACCESS == TRIAD; // update's first pass only writes
  if (i < packs) {
    pack<float> va = {}, vb = {}, r;
    if (READS) va = load_again<false>((const pack<float> *)a + i);
    if (ACCESS == TRIAD) vb = load_again<false>((const pack<float> *)b + i);
#pragma unroll
    for (int k = 0; k < 4; k++) r.at[k] = result<ACCESS>(0, va.at[k], vb.at[k]);
    store_again<STREAMING>((pack<float> *)y + i, r);
  }
  for (int64_t t = 4 * packs + i; t < n; t += all_threads()) y[t] = result<ACCESS>(0, READS ? a[t] : 0, ACCESS == TRIAD ? b[t] : 0);
}

#define MOVE(name, ACCESS, STREAMING)                                                                                        \
  RIDGE_KERNEL(bandwidth_fp32_simt_##name, 512)(int64_t n, int64_t passes, const float *a, const float *b, float *y) {      \
    move<ACCESS, STREAMING>(n, passes, a, b, y);                                                                             \
  }                                                                                                                          \
  RIDGE_ENTRY(bandwidth_fp32_simt_##name)                                                                                    \
  RIDGE_KERNEL(bandwidth_fp32_simt_once_##name, 512)(int64_t n, const float *a, const float *b, float *y) {                  \
    once<ACCESS, STREAMING>(n, a, b, y);                                                                                     \
  }                                                                                                                          \
  RIDGE_ENTRY(bandwidth_fp32_simt_once_##name)

MOVE(write, WRITE, false)
MOVE(nt_write, WRITE, true)
MOVE(copy, COPY, false)
MOVE(nt_copy, COPY, true)
MOVE(triad, TRIAD, false)
MOVE(nt_triad, TRIAD, true)
MOVE(update, UPDATE, false)

// A sum of its own for each word of a pack: one addition a load.
template <bool FAR> __device__ __forceinline__ unsigned read_all(int64_t n, int64_t passes, const float *a) {
  constexpr int UNROLL = 4;
  unsigned s[4] = {};
  const pack<float> *pa = (const pack<float> *)a;
  for (int64_t pass = 0; pass < passes; pass++)
    own<UNROLL>(
        n, ((uintptr_t)a & 15) == 0,
        [&](int64_t i, int count) {
          pack<float> v[UNROLL] = {};
#pragma unroll
          for (int u = 0; u < UNROLL; u++)
            if (u < count) v[u] = load_again<FAR>(pa + i + u * THREADS);
#pragma unroll
          for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int k = 0; k < 4; k++) s[k] += __float_as_uint(v[u].at[k]);
        },
        [&](int64_t t) { s[0] += __float_as_uint(*(const volatile float *)(a + t)); });
  return s[0] + s[1] + s[2] + s[3];
}

constexpr int AHEAD = 4; // loads of 16 bytes of a thread in flight

// A thread that has K packs, not more than AHEAD, reads them again and again, of so many passes together that AHEAD loads are in flight. ptxas minds no
// volatile of inline PTX: loads from one address it does once before the loop. It does not know that pass stays below 2^40.
template <int K> __device__ __forceinline__ void read_again(unsigned (&s)[4], int64_t passes, const pack<float> *p) {
  constexpr int TOGETHER = AHEAD / K;
  int64_t pass = 0;
  for (; pass + TOGETHER <= passes; pass += TOGETHER) {
    pack<float> v[TOGETHER * K];
#pragma unroll
    for (int u = 0; u < TOGETHER * K; u++) v[u] = load_again<false>(p + ((pass + u / K) >> 40) + u % K * THREADS);
#pragma unroll
    for (int u = 0; u < TOGETHER * K; u++)
#pragma unroll
      for (int k = 0; k < 4; k++) s[k] += __float_as_uint(v[u].at[k]);
  }
  for (; pass < passes; pass++)
#pragma unroll
    for (int u = 0; u < K; u++) {
      const pack<float> v = load_again<false>(p + (pass >> 40) + u * THREADS);
#pragma unroll
      for (int k = 0; k < 4; k++) s[k] += __float_as_uint(v.at[k]);
    }
}

// A small array: groups of sharing blocks have it all, every block its part of it, and take the passes in turn, so that all multiprocessors read.
__device__ __forceinline__ unsigned read_small(int64_t n, int64_t passes, int64_t sharing, const float *a) {
  unsigned s[4] = {};
  const int64_t groups = gridDim.x / sharing, group = blockIdx.x / sharing, member = blockIdx.x % sharing;
  const int64_t mine = passes / groups + (group < passes % groups);
  const int64_t packs = ((uintptr_t)a & 15) == 0 ? n / 4 : 0, each = (packs + sharing - 1) / sharing;
  const int64_t from = min(packs, member * each), part = min(packs, from + each) - from;
  const int64_t own = part > threadIdx.x ? (part - threadIdx.x + THREADS - 1) / THREADS : 0;
  const pack<float> *p = (const pack<float> *)a + from + threadIdx.x;
  if (own == 4) read_again<4>(s, mine, p);
  if (own == 3) read_again<3>(s, mine, p);
  if (own == 2) read_again<2>(s, mine, p);
  if (own == 1) read_again<1>(s, mine, p);
  for (int64_t pass = 0; pass < mine; pass++)
    for (int64_t t = 4 * packs + member * THREADS + threadIdx.x; t < n; t += sharing * THREADS) s[0] += __float_as_uint(*(const volatile float *)(a + t));
  return s[0] + s[1] + s[2] + s[3];
}

// The block's sum goes to partial[block]. The grid is a multiple of sharing, and sharing where a block's part is 32 KiB and more.
RIDGE_KERNEL(bandwidth_fp32_simt_read, 512)(int64_t n, int64_t passes, int64_t sharing, const float *a, int64_t *partial) {
  RIDGE_SHARED(unsigned, sums, [THREADS / 32]);
  const unsigned own = is_far(n) ? read_all<true>(n, passes, a) : n * 4 < NEAR * sharing ? read_small(n, passes, sharing, a) : read_all<false>(n, passes, a);
  const unsigned mine = warp_reduce(own, Add());
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
