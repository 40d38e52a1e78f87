// The body of attention_fp32_sm80_3xtf32.cu: o[i,:] = Σ_j softmax_j(scale·q[i,:]·k[j,:])·v[j,:] on tensor cores with fp32's error, as attention_simt.cuh's attention
// (causal: j ≤ i + skv − sq, groups of heads, a query that sees no key gives 0); d = 64 or 128, tensors at multiples of 16 bytes.
//
// FLOP: 4·d + 6 a visible pair, each product three times (3×TF32, ridge_mma_tf32.cuh). Bytes: q and o once, k and v once for 32 queries of a head (from L2).
// Design: FlashAttention-2 (Dao 2023). A block of 8 warps has 32 queries and tiles of 128 keys; a warp has 16 queries and a quarter of a tile's keys, with a maximum, sums and
// outputs of its own, which are put together at the end: so few queries too give each scheduler two warps, and a warp splits no more of k and v into two tf32 than it multiplies.
// Scores become the first operand of weights·v where they lie: key 2t of the sums is taken as row t of v, 2t + 1 as row t + 4. Keys and columns have a pitch of 4 words more than
// a multiple of 32: fragments are read without a bank conflict.
//
// Counts for a warp and a tile of keys (32 of 128), d = 64 (128):
//   mma.m16n8k8             192 (384), 6.9 cycles each of one of four tensor cores on 9.0: 1325 (2650); two warps a scheduler
//   issue slots             splitting k and v 384 (768), q 96 (192), weights 48; sums 256 (512); mma 192 (384); fragments 160 (320); softmax some 150
// so tensor cores bind where two warps and more a scheduler fill the time of the rest: 103 TFLOP/s at 1980 MHz, 1.54 of the fp32 pipe.
// Disassembled (9.0) all of it is 1734 (2988) instructions, two warps 3468 (5976) beside 2650 (5300) cycles of mma: issuing binds. By cvt.rna, counted as one instruction (it is four), it was 2091 (3680).
// Shared memory 78 KB (152 KB): two blocks a multiprocessor of 228 KB (one).
// H200: 8 heads of 512, d = 64: 23.1 us (23.3 TFLOP/s); attention_fp32_simt 127, SDPA's efficient backend 55.2. 16 heads of 2048, causal: 308 us (27.9 TFLOP/s); 1055 and 419. Predicted was
// 0.5 to 0.6 of the 103 for long ones, it is 0.27, where issuing with cvt.rna would leave 0.63 (0.72): what else holds it has not been looked at.
#ifndef RIDGE_ATTENTION_3XTF32_CUH
#define RIDGE_ATTENTION_3XTF32_CUH

#include "attention_base.cuh"
#include "ptx_cp_async.cuh"
#include "ptx_mma.cuh"
#include "ptx_tf32.cuh"

struct WideHeads {
  int64_t b, h, hkv, sq, skv;
  bool causal;
  float scale;
};

// Operands of a step of 8 k as two tf32.
template <int COUNT> struct Split {
  unsigned big[COUNT], small[COUNT];
  Split() = default;
  __device__ __forceinline__ explicit Split(const float (&x)[COUNT]) {
#pragma unroll
    for (int e = 0; e < COUNT; e++) tf32_split(x[e], big[e], small[e]);
  }
};

// sum += a·b: the three products of 8 k begin at 0, and are added with rounding.
__device__ __forceinline__ void multiply_3xtf32(float (&sum)[4], const Split<4> &a, const Split<2> &b) {
  float t[4];
  mma_tf32_first(t, a.small, b.big);
  MmaTf32::mma(t, a.big, b.small);
  MmaTf32::mma(t, a.big, b.big);
#pragma unroll
  for (int e = 0; e < 4; e++) sum[e] += t[e];
}

template <int D> struct WideAttention {
  static constexpr int ROWS = 2, PARTS = 4, QUERIES = 16 * ROWS, OWN = 32, KEYS = OWN * PARTS, WARPS = ROWS * PARTS, THREADS = 32 * WARPS;
  static constexpr int PITCH = 4 * D + 16, TILE = KEYS * PITCH, SHARED = QUERIES * PITCH + 2 * TILE; // bytes
  static constexpr int APART = 4 * D + 32; // bytes from row to row of the parts' outputs, for pairs of words
  static_assert(PARTS * QUERIES * APART <= 2 * TILE, "the parts' outputs take the room of k and v");

  // Rows of a tile from x, of which left are inside; the others are 0.
  template <int COUNT> static __device__ __forceinline__ void fetch(shared_at to, const float *x, int left) {
    constexpr int CHUNKS = D / 4;
#pragma unroll 2
    for (int i = threadIdx.x; i < COUNT * CHUNKS; i += THREADS) {
      const int row = i / CHUNKS, chunk = i % CHUNKS;
      copy_async(to + row * PITCH + 16 * chunk, x + (row < left ? row * D : 0) + 4 * chunk, row < left ? 16 : 0);
    }
    copy_commit();
  }

  static __device__ __forceinline__ float word(shared_at at) {
    unsigned w;
    load_shared(w, at);
    return __uint_as_float(w);
  }

  static __device__ __forceinline__ void attend(const WideHeads &a, const float *q, const float *k, const float *v, float *o) {
    RIDGE_DYNAMIC_SHARED(unsigned char, room);
    RIDGE_SHARED(float, totals, [WARPS][16][2]); // base and sum of a warp's queries
    const shared_at qs = shared_address(room), ks = qs + QUERIES * PITCH, vs = ks + TILE;
    const int sq = (int)a.sq, skv = (int)a.skv, tiles = (sq + QUERIES - 1) / QUERIES; // attention.go sees to it that they fit
    if (tiles == 0 || blockIdx.x >= tiles * a.b * a.h) return;
    const int64_t head = blockIdx.x / tiles, kv = head / a.h * a.hkv + head % a.h / (a.h / a.hkv);
    const int tile = (int)(blockIdx.x % tiles), first = (a.causal ? tiles - 1 - tile : tile) * QUERIES;
    const int seen = a.causal ? max(0, min(skv, first + QUERIES + skv - sq)) : skv;
    q += (head * sq + first) * D, o += (head * sq + first) * D, k += kv * skv * D, v += kv * skv * D;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, row0 = warp % ROWS * 16, part = warp / ROWS;
    const float c = a.scale * LOG2E;

    fetch<QUERIES>(qs, q, sq - first);
    if (seen > 0) fetch<KEYS>(ks, k, skv);
    float out[D / 8][4] = {}, base[2] = {NOTHING, NOTHING}, sum[2] = {};
    const shared_at q_lane = qs + (row0 + g) * PITCH + 4 * t, k_lane = ks + (part * OWN + g) * PITCH + 4 * t, v_lane = vs + (part * OWN + 2 * t) * PITCH + 4 * g;

    for (int k0 = 0; k0 < seen; k0 += KEYS) {
      copy_wait<0>();
      __syncthreads(); // k is there, and v has been read
      fetch<KEYS>(vs, v + (int64_t)k0 * D, skv - k0);
      float score[OWN / 8][4] = {};
#pragma unroll
      for (int s = 0; s < D / 8; s++) {
        const shared_at row = q_lane + 32 * s;
        const float p[4] = {word(row), word(row + 8 * PITCH), word(row + 16), word(row + 8 * PITCH + 16)};
        const Split<4> x(p);
#pragma unroll
        for (int j = 0; j < OWN / 8; j++) {
          const shared_at at = k_lane + 8 * j * PITCH + 32 * s;
          const float y[2] = {word(at), word(at + 16)};
          multiply_3xtf32(score[j], x, Split<2>(y));
        }
      }
      float factor[2];
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int end = a.causal ? min(skv, first + row0 + g + 8 * h + skv - sq + 1) : skv, left = end - (k0 + part * OWN + 2 * t);
        factor[h] = weigh(score, h, c, left, base[h], sum[h]);
      }
#pragma unroll
      for (int j = 0; j < D / 8; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) out[j][e] *= factor[e / 2];
      copy_wait<0>();
      __syncthreads(); // v is there, and k has been read
      if (k0 + KEYS < seen) fetch<KEYS>(ks, k + (int64_t)(k0 + KEYS) * D, skv - k0 - KEYS);
#pragma unroll
      for (int s = 0; s < OWN / 8; s++) {
        const float w[4] = {score[s][0], score[s][2], score[s][1], score[s][3]};
        const Split<4> x(w);
#pragma unroll
        for (int j = 0; j < D / 8; j++) {
          const shared_at at = v_lane + 8 * s * PITCH + 32 * j;
          const float y[2] = {word(at), word(at + PITCH)};
          multiply_3xtf32(out[j], x, Split<2>(y));
        }
      }
    }
    if (seen == 0) copy_wait<0>(); // the queries
    const int before = a.causal ? sq - skv - first : 0; // of the block's queries, those that see no key
    together(out, base, sum, totals, ks, skv > 0 ? before : sq, sq - first, o);
  }

  // Scores of row h become weights 2^(c·score − base), 0 from the left-th key on. Gives the factor of what was summed before.
  static __device__ __forceinline__ float weigh(float (&s)[OWN / 8][4], int h, float c, int left, float &base, float &sum) {
    float top = base;
#pragma unroll
    for (int j = 0; j < OWN / 8; j++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        float &x = s[j][2 * h + e];
        x = 8 * j + e < left ? x * c : -INFINITY;
        top = fmaxf(top, x);
      }
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    float add = 0;
#pragma unroll
    for (int j = 0; j < OWN / 8; j++)
#pragma unroll
      for (int e = 0; e < 2; e++) add += s[j][2 * h + e] = exp2_fast(s[j][2 * h + e] - top);
    const float factor = exp2_fast(base - top);
    sum = sum * factor + add, base = top;
    return factor;
  }

  // The parts of each query are brought to one base, added up and divided; the first `before` queries see no key.
  static __device__ __forceinline__ void together(float (&out)[D / 8][4], const float (&base)[2], float (&sum)[2], float (*totals)[16][2], shared_at room, int before, int rows, float *o) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, row0 = warp % ROWS * 16, part = warp / ROWS;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      sum[h] += __shfl_xor_sync(0xffffffffu, sum[h], 1);
      sum[h] += __shfl_xor_sync(0xffffffffu, sum[h], 2);
      if (t == 0) totals[warp][g + 8 * h][0] = base[h], totals[warp][g + 8 * h][1] = sum[h];
    }
    __syncthreads(); // and all have read the last tile
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float top = base[h], all = 0;
#pragma unroll
      for (int p = 0; p < PARTS; p++) top = fmaxf(top, totals[p * ROWS + warp % ROWS][g + 8 * h][0]);
#pragma unroll
      for (int p = 0; p < PARTS; p++) {
        const float *other = totals[p * ROWS + warp % ROWS][g + 8 * h];
        all += other[1] * exp2_fast(other[0] - top);
      }
      const float mine = exp2_fast(base[h] - top) / all;
      const bool sees = row0 + g + 8 * h >= before;
#pragma unroll
      for (int j = 0; j < D / 8; j++)
        store_shared(room + (part * QUERIES + row0 + g + 8 * h) * APART + (8 * j + 2 * t) * 4, __float_as_uint(sees ? out[j][2 * h] * mine : 0.0f), __float_as_uint(sees ? out[j][2 * h + 1] * mine : 0.0f));
    }
    __syncthreads();
    for (int i = threadIdx.x; i < QUERIES * (D / 4); i += THREADS) {
      const int row = i / (D / 4), chunk = i % (D / 4);
      float y[4] = {};
#pragma unroll
      for (int p = 0; p < PARTS; p++) {
        unsigned w[4];
        load_shared(w, room + (p * QUERIES + row) * APART + 16 * chunk);
#pragma unroll
        for (int e = 0; e < 4; e++) y[e] += __uint_as_float(w[e]);
      }
      if (row < rows) store_pack((pack<float> *)(o + row * D) + chunk, pack<float>{{y[0], y[1], y[2], y[3]}});
    }
  }
};

#define RIDGE_ATTENTION_3XTF32(entry, D)                                                                                                  \
  RIDGE_KERNEL(entry, WideAttention<D>::THREADS)                                                                                          \
  (int64_t b, int64_t h, int64_t hkv, int64_t sq, int64_t skv, int64_t causal, double scale, const float *q, const float *k,              \
   const float *v, float *o) {                                                                                                            \
    WideAttention<D>::attend(WideHeads{b, h, hkv, sq, skv, causal != 0, (float)scale}, q, k, v, o);                                       \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#endif
