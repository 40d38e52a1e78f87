// The bodies of attention_DTYPE_simt.cu. For each head, with 64 queries a block and keys in tiles of 64:
//
//   attention       o[i,:] = Σ_j softmax_j(scale·q[i,:]·k[j,:])·v[j,:]; causal: j ≤ i + skv − sq; head g = h / (heads / kv_heads) of k and v
//   qk_softmax      p[i,j] = softmax_j(scale·q[i,:]·k[j,:])
//   softmax_v       o[i,:] = Σ_j softmax_j(s[i,j])·v[j,:]
//   causal_softmax  p[i,j] = softmax over j ≤ i of s[i,j], 0 for the others
//
// Sums and weights in fp32. A query that sees no key gives 0; one of whose scores is NaN or +infinity, or all −infinity, NaN. Any shape and alignment; blockIdx.y takes 128 columns of o each, so that
// scores are calculated once more for each 128 of d.
//
// FLOP: 4·d + 6 a visible pair. Bytes: q, k, v and o once (k and v once for 64 queries). The streaming softmax (Milakov and Gimelshein
// 2018; Dao et al. 2022) keeps scores out of memory. A thread has 4 × 4 scores and 4 × 8 outputs: 16 + 32 registers, 12 operands. Per
// dimension of a score a warp issues 16 FMA (4 cycles) and reads 3 wavefronts, per key of the output 32 FMA (8 cycles) and 5
// wavefronts: the FMA pipe binds by 4 to 3 and 8 to 5, less for slices of q and k, which are stored with 4 lanes a bank (32 wavefronts
// for 128 cycles of FMA). 43 KB of shared memory, two blocks a multiprocessor of 100 KB, four of 228 KB.
// H200, fp32, d = 64: 8 heads of 512 in 127 us (4.2 TFLOP/s), 16 heads of 2048, causal, in 1055 us (8.1); there attention_3xtf32.cuh is preferred.
#ifndef RIDGE_ATTENTION_SIMT_CUH
#define RIDGE_ATTENTION_SIMT_CUH

#include "ridge_cuda.cuh"
#include "ridge_softmax.cuh"

constexpr int QUERIES = 64, KEYS = 64, COLUMNS = 128; // of a block, of a tile, of o
constexpr int DEPTH = 32, ROWS = 16;                  // slices of q and k, and of v
constexpr int PITCH = QUERIES + 4;

struct HeadShape {
  int64_t b, h, hkv, sq, skv, d;
  bool causal;
  float scale;
};

// What a block has of a head.
template <class T> struct Part {
  const T *q, *k, *v, *s; // from the block's first query, and the head's first key
  T *o, *p;
  int64_t first, queries; // the first query and how many are left from there
  int64_t seen;           // keys that some query of the block sees
};

template <class T>
__device__ __forceinline__ bool part_of(const HeadShape &a, const T *q, const T *k, const T *v, const T *s, T *o, T *p, Part<T> &x) {
  const int64_t tiles = (a.sq + QUERIES - 1) / QUERIES;
  if (tiles == 0 || blockIdx.x >= tiles * a.b * a.h) return false; // nothing to do: the same for the whole block
  const int64_t head = blockIdx.x / tiles, kv = head / a.h * a.hkv + head % a.h / (a.h / a.hkv), row = head * a.sq;
  x.first = blockIdx.x % tiles * QUERIES;
  x.queries = a.sq - x.first;
  x.q = q + (row + x.first) * a.d, x.k = k + kv * a.skv * a.d, x.v = v + kv * a.skv * a.d, x.s = s + (row + x.first) * a.skv;
  x.o = o + (row + x.first) * a.d, x.p = p + (row + x.first) * a.skv;
  x.seen = a.causal ? max((int64_t)0, min(a.skv, x.first + QUERIES + a.skv - a.sq)) : a.skv;
  return true;
}

// The scores of queries 4·ty + i and keys 4·tx + j of the tile from key k0, minus infinity where a query sees no key. Begins with a barrier.
template <class T, bool GIVEN>
__device__ __forceinline__ void scores(const HeadShape &a, const Part<T> &x, int64_t k0, float (*qs)[PITCH], float (*ks)[PITCH], float (&s)[4][4]) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int64_t keys = a.skv - k0;
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) s[i][j] = 0;
  if (GIVEN) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (4 * ty + i < x.queries && 4 * tx + j < keys) s[i][j] = load(x.s[(4 * ty + i) * a.skv + k0 + 4 * tx + j]);
  } else {
    for (int64_t d0 = 0; d0 < a.d; d0 += DEPTH) {
      const int dd = threadIdx.x % DEPTH, r0 = threadIdx.x / DEPTH;
      const bool inside = d0 + dd < a.d;
      __syncthreads();
#pragma unroll
      for (int r = r0; r < QUERIES; r += 256 / DEPTH) {
        qs[dd][r] = inside && r < x.queries ? load(x.q[r * a.d + d0 + dd]) : 0.0f;
        ks[dd][r] = inside && r < keys ? load(x.k[(k0 + r) * a.d + d0 + dd]) : 0.0f;
      }
      __syncthreads();
#pragma unroll 8
      for (int k = 0; k < DEPTH; k++) {
        const pack<float> p = load_pack((const pack<float> *)&qs[k][4 * ty]), y = load_pack((const pack<float> *)&ks[k][4 * tx]);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
          for (int j = 0; j < 4; j++) s[i][j] = fmaf(p.at[i], y.at[j], s[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const bool visible = 4 * tx + j < keys && (!a.causal || k0 + 4 * tx + j <= x.first + 4 * ty + i + a.skv - a.sq);
      s[i][j] = visible ? s[i][j] * a.scale : -INFINITY;
    }
}

// Over the 16 threads that share a query.
template <class F> __device__ __forceinline__ float across(float v, F f) {
#pragma unroll
  for (int d = 8; d > 0; d /= 2) v = f(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

// Takes a tile's scores into the running maximum and sum, turns them into exp(s − maximum) and gives the factor of what was summed before.
__device__ __forceinline__ float take(float (&s)[4], float &top, float &sum) {
  const float now = fmaxf(top, across(fmaxf(fmaxf(s[0], s[1]), fmaxf(s[2], s[3])), Max()));
  const float base = now == -INFINITY ? 0.0f : now, factor = expf(top - base); // 0 while nothing was seen
#pragma unroll
  for (int j = 0; j < 4; j++) s[j] = expf(s[j] - base);
  sum = sum * factor + across((s[0] + s[1]) + (s[2] + s[3]), Add());
  top = now;
  return factor;
}

template <class T, bool GIVEN> __device__ __forceinline__ void attend(const HeadShape &a, const T *q, const T *k, const T *v, const T *s, T *o) {
  RIDGE_SHARED(float, qs, [DEPTH][PITCH]);
  RIDGE_SHARED(float, ks, [DEPTH][PITCH]);
  RIDGE_SHARED(float, ps, [KEYS][PITCH]); // weights, as [key][query]
  RIDGE_SHARED(float, vs, [ROWS][COLUMNS]);
  Part<T> x;
  if (!part_of(a, q, k, v, s, o, (T *)nullptr, x)) return;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int64_t column0 = (int64_t)blockIdx.y * COLUMNS;
  float acc[4][8] = {}, top[4], sum[4] = {};
#pragma unroll
  for (int i = 0; i < 4; i++) top[i] = -INFINITY;
  for (int64_t k0 = 0; k0 < x.seen; k0 += KEYS) {
    float w[4][4];
    scores<T, GIVEN>(a, x, k0, qs, ks, w); // its barrier lies behind the last reads of ps
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float factor = take(w[i], top[i], sum[i]);
#pragma unroll
      for (int j = 0; j < 8; j++) acc[i][j] *= factor;
    }
#pragma unroll
    for (int j = 0; j < 4; j++) store_pack((pack<float> *)&ps[4 * tx + j][4 * ty], pack<float>{{w[0][j], w[1][j], w[2][j], w[3][j]}});
    for (int r0 = 0; r0 < KEYS; r0 += ROWS) {
      const int c = threadIdx.x % COLUMNS;
      __syncthreads();
#pragma unroll
      for (int r = threadIdx.x / COLUMNS; r < ROWS; r += 256 / COLUMNS)
        vs[r][c] = k0 + r0 + r < a.skv && column0 + c < a.d ? load(x.v[(k0 + r0 + r) * a.d + column0 + c]) : 0.0f;
      __syncthreads();
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const pack<float> p = load_pack((const pack<float> *)&ps[r0 + r][4 * ty]);
        const pack<float> y0 = load_pack((const pack<float> *)&vs[r][4 * tx]), y1 = load_pack((const pack<float> *)&vs[r][64 + 4 * tx]);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
          for (int j = 0; j < 8; j++) acc[i][j] = fmaf(p.at[i], j < 4 ? y0.at[j & 3] : y1.at[j & 3], acc[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const bool sees = a.skv > 0 && (!a.causal || x.first + 4 * ty + i + a.skv - a.sq >= 0);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const int64_t c = column0 + 4 * tx + (j & 3) + (j < 4 ? 0 : 64);
      if (4 * ty + i < x.queries && c < a.d) x.o[(4 * ty + i) * a.d + c] = element<T>::store(sees ? acc[i][j] / sum[i] : 0.0f);
    }
  }
}

// Two passes over the keys: the first finds maximum and sum of each query, the second calculates the scores again and stores weights.
template <class T> __device__ __forceinline__ void weights(const HeadShape &a, const T *q, const T *k, T *p) {
  RIDGE_SHARED(float, qs, [DEPTH][PITCH]);
  RIDGE_SHARED(float, ks, [DEPTH][PITCH]);
  Part<T> x;
  if (!part_of(a, q, k, (const T *)nullptr, (const T *)nullptr, (T *)nullptr, p, x)) return;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float top[4], sum[4] = {}, s[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++) top[i] = -INFINITY;
  for (int64_t k0 = 0; k0 < x.seen; k0 += KEYS) {
    scores<T, false>(a, x, k0, qs, ks, s);
#pragma unroll
    for (int i = 0; i < 4; i++) take(s[i], top[i], sum[i]);
  }
  for (int64_t k0 = 0; k0 < x.seen; k0 += KEYS) {
    scores<T, false>(a, x, k0, qs, ks, s);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (4 * ty + i < x.queries && k0 + 4 * tx + j < a.skv)
          x.p[(4 * ty + i) * a.skv + k0 + 4 * tx + j] = element<T>::store(expf(s[i][j] - top[i]) / sum[i]);
  }
}

// A block a row of n scores, row i of a head sees i + 1. p may be s.
template <class T> __device__ __forceinline__ void causal_rows(const T *s, T *p, int64_t rows, int64_t n) {
  RIDGE_SHARED(double, lanes, [8]);
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) softmax_line(s + r * n, p + r * n, r % n + 1, n, lanes);
}

#define RIDGE_ATTENTION(prefix, T)                                                                                                       \
  RIDGE_KERNEL(prefix##_attention, 256)                                                                                                  \
  (int64_t b, int64_t h, int64_t hkv, int64_t sq, int64_t skv, int64_t d, int64_t causal, double scale, const T *q, const T *k,          \
   const T *v, T *o) {                                                                                                                   \
    attend<T, false>(HeadShape{b, h, hkv, sq, skv, d, causal != 0, (float)scale}, q, k, v, (const T *)nullptr, o);                       \
  }                                                                                                                                      \
  RIDGE_ENTRY(prefix##_attention)                                                                                                        \
  RIDGE_KERNEL(prefix##_qk_softmax, 256)(int64_t b, int64_t s, int64_t d, double scale, const T *q, const T *k, T *p) {                  \
    weights(HeadShape{b, 1, 1, s, s, d, false, (float)scale}, q, k, p);                                                                  \
  }                                                                                                                                      \
  RIDGE_ENTRY(prefix##_qk_softmax)                                                                                                       \
  RIDGE_KERNEL(prefix##_softmax_v, 256)(int64_t b, int64_t s, int64_t d, double scale, const T *scores, const T *v, T *o) {              \
    attend<T, true>(HeadShape{b, 1, 1, s, s, d, false, (float)scale}, (const T *)nullptr, (const T *)nullptr, v, scores, o);             \
  }                                                                                                                                      \
  RIDGE_ENTRY(prefix##_softmax_v)                                                                                                        \
  RIDGE_KERNEL(prefix##_causal_softmax, 256)(int64_t rows, int64_t n, const T *s, T *p) { causal_rows(s, p, rows, n); }                  \
  RIDGE_ENTRY(prefix##_causal_softmax)

#endif
