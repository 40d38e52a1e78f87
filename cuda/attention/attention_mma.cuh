// The body of attention_DTYPE_sm80.cu: o[i,:] = Σ_j softmax_j(scale·q[i,:]·k[j,:])·v[j,:] on tensor cores, as attention_simt.cuh's
// attention (causal: j ≤ i + skv − sq, groups of heads, a query that sees no key gives 0); d = 64, 80, 96, 128 or 256, tensors at multiples of 16 bytes.
//
// FLOP: 4·d + 6 a visible pair. Bytes: q and o once, k and v once for 128 queries of a head (from L2).
// Design: FlashAttention-2 (Dao 2023). A block of 4 warps has 128 queries (d = 256: 64), a warp 32 (16), whose scores, weights and outputs never leave its
// registers: the sums of q·kᵀ lie as mma wants its first operand of p·v. q stays in shared memory (d = 64: in registers), k and v have room
// for one tile of 64 keys each: v arrives while scores are summed, the next k while outputs are. Weights are exp2(c·s − c·max) (attention_base.cuh), rounded to the
// dtype; the sum is that of the rounded ones. Tiles that no query sees are left out, only those at the mask's edge are masked; causal
// blocks with the most keys come first.
//
// Counts for a warp and a tile of keys, d = 128 (64):
//   mma.m16n8k16            256 (128), 8 cycles each on 8.0 of one of the 4 sub-cores: 2048 (1024)
//   wavefronts of shared    320 (128): ldmatrix of k 128 (64), q 64 (0), v 128 (64); four warps share 128 bytes a cycle: 1280 (512) cycles
//   ex2                     64, 8 cycles each: 512 (512); the other instructions are about 650 (500) issue slots
// so tensor cores bind at d = 128, if a second block fills the time of the softmax; at d = 64 ex2 and issue slots take 0.9 of the mma's time.
// Shared memory 64 KB (32 KB): two blocks a multiprocessor, by registers.
//   d = 80 (96)             160 (192) mma, 1280 (1536) cycles; 200 (240) wavefronts, 800 (960) cycles; ex2 512; rows of 256 bytes, 64 KB
//   d = 256                 256 mma for 16 queries, 2048 cycles; 576 wavefronts, 2304 cycles: half the queries a warp read the same k and v, so shared memory
//                           binds; ex2 256. 96 KB: two blocks a multiprocessor of 228 KB, one of 164 KB
// Predicted on 8.0: 0.65 to 0.72 of the tensor roof at d = 128, 0.5 to 0.6 at d = 64, 0.55 to 0.65 at 80 and 96, 0.5 at 256 (long, not causal); on 9.0, where
// mma.sync has about 0.62 of the roof, 0.4, 0.33, 0.36 and 0.36. not yet measured.
#ifndef RIDGE_ATTENTION_MMA_CUH
#define RIDGE_ATTENTION_MMA_CUH

#include "attention_base.cuh"
#include "ptx_cp_async.cuh"
#include "ptx_mma.cuh"

struct HeadSizes {
  int64_t b, h, hkv, sq, skv;
  bool causal;
  float scale;
};

template <class MMA, class T, int D> struct MmaAttention {
  static constexpr int WARPS = 4, MQ = D <= 128 ? 2 : 1, QUERIES = WARPS * MQ * 16, KEYS = 64, THREADS = WARPS * 32;
  static constexpr int WIDTH = (D + 63) / 64 * 128, CHUNKS = WIDTH / 16, TILE = KEYS * WIDTH, SHARED = QUERIES * WIDTH + 2 * TILE;
  static constexpr bool KEEP = D == 64; // q's fragments stay in registers
  static_assert(D % 16 == 0, "fragments are of 16 columns");

  // Chunks of 16 bytes XORed with the row: eight rows at the same chunk lie in all banks. Rows are multiples of 128 bytes for that; what d leaves of
  // them is neither written nor read.
  static __device__ __forceinline__ int place(int row, int chunk) { return row * WIDTH + (chunk ^ row % 8) * 16; }

  // Rows of a tile from x, of which left are inside; the others are 0.
  template <int ROWS> static __device__ __forceinline__ void fetch(shared_at to, const T *x, int left) {
    constexpr int APART = THREADS / CHUNKS;
    const int row0 = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS, first = place(row0, chunk);
    if (chunk * 8 >= D) return;
    static_assert(APART % 8 == 0 || APART == 4, "row0 + i·APART is row0 with other bits");
#pragma unroll
    for (int i = 0; i < ROWS / APART; i++) {
      const int row = row0 + i * APART;
      copy_async(to + (first ^ i * APART % 8 * 16) + i * (APART * WIDTH), x + (row < left ? row * D : 0) + chunk * 8, row < left ? 16 : 0);
    }
  }

  static __device__ __forceinline__ void attend(const HeadSizes &a, const T *q, const T *k, const T *v, T *o) {
    RIDGE_DYNAMIC_SHARED(unsigned char, room);
    const shared_at qs = shared_address(room), ks = qs + QUERIES * WIDTH, vs = ks + TILE;
    const int sq = (int)a.sq, skv = (int)a.skv, tiles = (sq + QUERIES - 1) / QUERIES; // attention.go sees to it that they fit
    if (tiles == 0 || blockIdx.x >= tiles * a.b * a.h) return;
    const int64_t head = blockIdx.x / tiles, kv = head / a.h * a.hkv + head % a.h / (a.h / a.hkv);
    const int tile = (int)(blockIdx.x % tiles), first = (a.causal ? tiles - 1 - tile : tile) * QUERIES, queries = sq - first;
    const int seen = a.causal ? max(0, min(skv, first + QUERIES + skv - sq)) : skv;
    q += (head * sq + first) * D, o += (head * sq + first) * D, k += kv * skv * D, v += kv * skv * D;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int row0 = warp * MQ * 16;

    // Offsets of a lane's rows; steps of 32 bytes are XORed, which an address does not allow: it may begin at any multiple of 128.
    const int q_lane = place(row0 + lane % 16, lane / 16), k_lane = place(lane / 16 * 8 + lane % 8, lane / 8 % 2), v_lane = place(lane % 16, lane / 16);
    const float c = a.scale * LOG2E;
    float out[MQ][D / 8][4] = {}, top[MQ][2], sum[MQ][2] = {};
    unsigned kept[KEEP ? MQ : 1][KEEP ? D / 16 : 1][4];
#pragma unroll
    for (int i = 0; i < MQ; i++) top[i][0] = top[i][1] = NOTHING;

    if (seen > 0) {
      fetch<QUERIES>(qs, q, queries);
      copy_commit();
      fetch<KEYS>(ks, k, skv);
      copy_commit();
      if constexpr (KEEP) {
        copy_wait<1>();
        __syncthreads();
#pragma unroll
        for (int i = 0; i < MQ; i++)
#pragma unroll
          for (int s = 0; s < D / 16; s++) ldmatrix(kept[i][s], qs + (q_lane ^ s * 32) + i * 16 * WIDTH);
      }
    }
    for (int k0 = 0; k0 < seen; k0 += KEYS) {
      copy_wait<0>();
      __syncthreads(); // k is there, and v has been read
      fetch<KEYS>(vs, v + (int64_t)k0 * D, skv - k0);
      copy_commit();
      float score[MQ][KEYS / 8][4] = {};
#pragma unroll
      for (int s = 0; s < D / 16; s++) {
        unsigned fq[MQ][4];
#pragma unroll
        for (int i = 0; i < MQ; i++) {
          if constexpr (KEEP) {
#pragma unroll
            for (int e = 0; e < 4; e++) fq[i][e] = kept[i][s][e];
          } else {
            ldmatrix(fq[i], qs + (q_lane ^ s * 32) + i * 16 * WIDTH);
          }
        }
#pragma unroll
        for (int j = 0; j < KEYS / 16; j++) {
          unsigned r[4];
          ldmatrix(r, ks + (k_lane ^ s * 32) + j * 16 * WIDTH);
          const unsigned lo[2] = {r[0], r[1]}, hi[2] = {r[2], r[3]};
#pragma unroll
          for (int i = 0; i < MQ; i++) {
            MMA::mma(score[i][2 * j], fq[i], lo);
            MMA::mma(score[i][2 * j + 1], fq[i], hi);
          }
        }
      }
      // The first query of the warp sees all keys of the tile unless they end or the mask begins.
      const int visible = a.causal ? min(skv, first + row0 + skv - sq + 1) : skv;
      if (k0 + KEYS > visible) mask(a.causal, sq, skv, score, k0 + 2 * t, first + row0 + g);
      unsigned weight[MQ][KEYS / 8][2];
#pragma unroll
      for (int i = 0; i < MQ; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const float factor = take(score[i], h, c, top[i][h], sum[i][h], weight[i]);
#pragma unroll
          for (int j = 0; j < D / 8; j++) out[i][j][2 * h] *= factor, out[i][j][2 * h + 1] *= factor;
        }
      copy_wait<0>();
      __syncthreads(); // v is there, and k has been read
      if (k0 + KEYS < seen) fetch<KEYS>(ks, k + (int64_t)(k0 + KEYS) * D, skv - k0 - KEYS);
      copy_commit();
#pragma unroll
      for (int s = 0; s < KEYS / 16; s++)
#pragma unroll
        for (int j = 0; j < D / 16; j++) {
          unsigned r[4];
          ldmatrix_transposed(r, vs + (v_lane ^ j * 32) + s * 16 * WIDTH);
          const unsigned lo[2] = {r[0], r[1]}, hi[2] = {r[2], r[3]};
#pragma unroll
          for (int i = 0; i < MQ; i++) {
            const unsigned p[4] = {weight[i][2 * s][0], weight[i][2 * s][1], weight[i][2 * s + 1][0], weight[i][2 * s + 1][1]};
            MMA::mma(out[i][2 * j], p, lo);
            MMA::mma(out[i][2 * j + 1], p, hi);
          }
        }
    }
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float all = sum[i][h];
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        all += __shfl_xor_sync(0xffffffffu, all, 2);
        const int row = row0 + 16 * i + 8 * h + g;
        const bool sees = skv > 0 && (!a.causal || first + row + skv - sq >= 0);
        const float inverse = 1 / all;
        if (row >= queries) continue;
#pragma unroll
        for (int j = 0; j < D / 8; j++)
          *(unsigned *)(o + row * D + 8 * j + 2 * t) = sees ? Pair<T>::of(out[i][j][2 * h] * inverse, out[i][j][2 * h + 1] * inverse) : 0;
      }
  }

  // Scores of key and key + 1, and of query and query + 8 of each tile, become minus infinity where there is no key or it is masked.
  static __device__ __forceinline__ void mask(bool causal, int sq, int skv, float (&score)[MQ][KEYS / 8][4], int key, int query) {
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int row = query + 16 * i + 8 * h, end = causal ? min(skv, row + skv - sq + 1) : skv;
        const int left = end - key; // keys that are seen from this lane's first
#pragma unroll
        for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
          for (int e = 0; e < 2; e++)
            if (8 * j + e >= left) score[i][j][2 * h + e] = -INFINITY;
      }
  }

  // Takes the scores of row h of a tile into the running maximum and the lane's part of the sum; weights as pairs of the dtype. Gives the
  // factor of what was summed before.
  static __device__ __forceinline__ float take(float (&s)[KEYS / 8][4], int h, float c, float &top, float &sum, unsigned (&weight)[KEYS / 8][2]) {
    float now = top;
#pragma unroll
    for (int j = 0; j < KEYS / 8; j++) now = fmaxf(now, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
    now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 1));
    now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 2));
    const float factor = rebase(top, now, c), offset = offset_of(now, c, [&](auto less) {
#pragma unroll
      for (int j = 0; j < KEYS / 8; j++) less(s[j][2 * h]), less(s[j][2 * h + 1]);
    });
    float add = 0;
#pragma unroll
    for (int j = 0; j < KEYS / 8; j++) {
      const unsigned w = Pair<T>::of(exp2_fast(fmaf(s[j][2 * h], c, -offset)), exp2_fast(fmaf(s[j][2 * h + 1], c, -offset)));
      weight[j][h] = w;
      add += Pair<T>::low(w) + Pair<T>::high(w);
    }
    sum = sum * factor + add;
    top = now;
    return factor;
  }
};

#define RIDGE_ATTENTION_MMA(entry, MMA, T, D)                                                                                             \
  RIDGE_KERNEL(entry, (MmaAttention<MMA, T, D>::THREADS))                                                                                 \
  (int64_t b, int64_t h, int64_t hkv, int64_t sq, int64_t skv, int64_t causal, double scale, const T *q, const T *k, const T *v, T *o) {  \
    MmaAttention<MMA, T, D>::attend(HeadSizes{b, h, hkv, sq, skv, causal != 0, (float)scale}, q, k, v, o);                                \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#endif
