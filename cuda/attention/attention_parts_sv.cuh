// The body of softmax_v in attention_DTYPE_sm80…_parts.cu: o[i,:] = Σ_j softmax_j(s[i,j])·v[j,:] of heads of S queries and S keys on tensor cores; rows of s at multiples of
// 16 bytes, d a multiple of 16.
//
// FLOP: 2·d + 5 a pair, fp32 three times the 2·d. Bytes: s and o once; v once for a block's queries (from L2).
// A block has 16·MQ queries for each of its rows of warps; the `parts` warps of a row take turns of KEYS keys each, with a base, sums and outputs of their own, which are put together at
// the end through shared memory. Scores come 16 bytes a lane, the next turn's before this one's are used; they become weights, rounded to the dtype, which are the first operand as they
// lie, and the sum is that of the rounded ones. v comes 16 bytes a lane too: two keys' words are paired by column (bf16).
//
// Counts (sm_90a, d = 64, an H200 at 1.75 GHz), a warp's turn:
//   bf16, 16 queries × 32 keys       16 mma, 18 ex2, 32 to pair v, 10 loads of 16 bytes, 281 instructions; 98 registers, two blocks a multiprocessor
//   bf16, 32 × 32                    32 mma, 36 ex2, 12 loads, 488 instructions; 172 registers
//   fp32, 16 × 16                    48 mma of tf32, 10 ex2, 10 loads, 406 instructions, of which 120 split (484 and 200 by cvt.rna); 138 registers
//   (since then a subtraction more a weight, attention_base.cuh: 8 to 32 instructions)
//   shape          blocks    bytes        predicted: bf16, fp32 (the fused kernel of the portable tier and the chain of two, measured on an H200)
//   1 × 128        8         64 KB        3 to 4 us, 3 to 5 (bf16 25.7 and 9.6, fp32 24.6 and 17.5)
//   4 × 256        64        768 KB       3 to 5, 4 to 6 (48.9 and 7.5, 46.7 and 18.5)
//   12 × 512       384       8 MB         7 to 9, 10 to 14
//   16 × 2048      512       142 MB       45 to 60, 150 to 180: s alone 33 and 65, issue slots 40 and 142. The chain's bytes take 98 and 196
// (bytes at bf16.) not yet measured.
// Versions: 1 as described.
#ifndef RIDGE_ATTENTION_PARTS_SV_CUH
#define RIDGE_ATTENTION_PARTS_SV_CUH

#include "attention_parts.cuh"

template <class T, int D, int MQ> struct SoftmaxV {
  typedef PartOperands<T> Operands;
  typedef PartColumns<T, D> Columns;
  static constexpr int WARPS = 8, THREADS = 32 * WARPS; // at most
  static constexpr int OWN = 16 / (int)sizeof(T), KEYS = 4 * OWN, STEP = KEYS / 2, PIECE = Columns::PIECE; // elements of 16 bytes, keys of a turn and of a step
  static constexpr int ROWS = 16 * MQ, PITCH = D + 4;                                               // floats from row to row of the parts' outputs
  static_assert(D % 16 == 0, "pieces of 16 columns and more");

  struct Scores {
    unsigned w[MQ][2][4];
  };

  // The lane's keys of a turn; where there are none, minus infinity.
  static __device__ __forceinline__ void fetch(Scores &x, const T *s, const int (&row)[MQ][2], int key, int keys) {
    constexpr unsigned OUT = sizeof(T) == 2 ? 0xff80ff80u : 0xff800000u;
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
#pragma unroll
        for (int e = 0; e < 4; e++) x.w[i][h][e] = OUT;
        if (key < keys) load_words<4>(x.w[i][h], s + row[i][h] + key); // keys are a multiple of OWN
      }
  }

  static __device__ __forceinline__ float score(const unsigned (&w)[4], int i) {
    if constexpr (sizeof(T) == 4)
      return __uint_as_float(w[i]);
    else
      return i % 2 ? Pair<T>::high(w[i / 2]) : Pair<T>::low(w[i / 2]);
  }

  // Scores of a row become weights 2^(c·(score − base)), rounded. Gives the factor of what was summed before.
  static __device__ __forceinline__ float take(unsigned (&w)[4], float c, float &base, float &sum) {
    float top = score(w, 0);
#pragma unroll
    for (int i = 1; i < OWN; i++) top = fmaxf(top, score(w, i));
    const float now = fmaxf(base, quad_max(top)), factor = rebase(base, now, c);
    float add = 0;
#pragma unroll
    for (int e = 0; e < 4; e++) {
      if constexpr (sizeof(T) == 2) {
        w[e] = Pair<T>::of(rebase(score(w, 2 * e), now, c), rebase(score(w, 2 * e + 1), now, c));
        add += Pair<T>::low(w[e]) + Pair<T>::high(w[e]);
      } else {
        const float x = rebase(score(w, e), now, c);
        w[e] = __float_as_uint(x), add += x;
      }
    }
    sum = sum * factor + add, base = now;
    return factor;
  }

  // A step's products for tiles `tile` to tile + COUNT, COUNT columns a lane from v on; the lane has STEP/4 keys, rows of v.
  template <int COUNT, int TILES>
  static __device__ __forceinline__ void piece(float (&out)[MQ][TILES][4], int tile, const typename Operands::Left (&weight)[MQ], const T *v, bool inside) {
    constexpr int WORDS = COUNT * (int)sizeof(T) / 4;
    unsigned x[STEP / 4][WORDS] = {};
    if (inside) {
#pragma unroll
      for (int key = 0; key < STEP / 4; key++) load_words<WORDS>(x[key], v + key * D);
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
      unsigned w[2];
#pragma unroll
      for (int e = 0; e < 2; e++) {
        if constexpr (sizeof(T) == 2)
          w[e] = column_pair(x[2 * e][j / 2], x[2 * e + 1][j / 2], j);
        else
          w[e] = x[e][j];
      }
      const typename Operands::Right b(w[0], w[1]);
#pragma unroll
      for (int i = 0; i < MQ; i++) Operands::multiply(out[i][tile + j], weight[i], b);
    }
  }

  // A step's products; row is the lane's first key.
  static __device__ __forceinline__ void add(float (&out)[MQ][D / 8][4], const typename Operands::Left (&weight)[MQ], const T *row, int g, bool inside) {
#pragma unroll
    for (int j = 0; j < D / PIECE; j++) piece<OWN>(out, j * OWN, weight, row + j * PIECE + g * OWN, inside);
    if constexpr (Columns::HALF) piece<OWN / 2>(out, D / PIECE * OWN, weight, row + D / PIECE * PIECE + g * (OWN / 2), inside);
    if constexpr (Columns::QUARTER) piece<OWN / 4>(out, (D - PIECE / 4) / 8, weight, row + D - PIECE / 4 + g * (OWN / 4), inside);
  }

  static __device__ __forceinline__ void outputs(int64_t heads, int keys, int parts, const T *s, const T *v, T *o) {
    RIDGE_DYNAMIC_SHARED(float, room);              // [WARPS][ROWS][PITCH]
    RIDGE_SHARED(float, totals, [WARPS][ROWS][2]); // base and sum of a warp's queries
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, part = warp % parts, rows = blockDim.x / 32 / parts;
    const int queries = rows * ROWS, tiles = (keys + queries - 1) / queries;
    if (tiles == 0 || blockIdx.x >= tiles * heads) return;
    const int64_t head = blockIdx.x / tiles;
    const int first = (int)(blockIdx.x % tiles) * queries, row0 = first + warp / parts * ROWS + g, turn = parts * KEYS;
    int from[MQ][2]; // attention.go sees to it that they fit
    s += head * keys * keys, v += head * keys * D;
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) from[i][h] = min(row0 + 16 * i + 8 * h, keys - 1) * keys;
    float out[MQ][D / 8][4] = {}, base[MQ][2], sum[MQ][2] = {};
#pragma unroll
    for (int i = 0; i < MQ; i++) base[i][0] = base[i][1] = NOTHING;
    Scores next;
    int key = part * KEYS + t * OWN; // the lane's first of a turn
    fetch(next, s, from, key, keys);
    for (; key - t * OWN < keys; key += turn) {
      Scores x = next;
      fetch(next, s, from, key + turn, keys);
#pragma unroll
      for (int i = 0; i < MQ; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const float factor = take(x.w[i][h], LOG2E, base[i][h], sum[i][h]);
#pragma unroll
          for (int j = 0; j < D / 8; j++) out[i][j][2 * h] *= factor, out[i][j][2 * h + 1] *= factor;
        }
#pragma unroll
      for (int step = 0; step < 2; step++) {
        typename Operands::Left weight[MQ];
#pragma unroll
        for (int i = 0; i < MQ; i++)
          weight[i] = typename Operands::Left(x.w[i][0][2 * step], x.w[i][1][2 * step], x.w[i][0][2 * step + 1], x.w[i][1][2 * step + 1]);
        add(out, weight, v + (key + step * (OWN / 2)) * D, g, key < keys);
      }
    }
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        sum[i][h] = quad_sum(sum[i][h]);
        if (t == 0) totals[warp][16 * i + 8 * h + g][0] = base[i][h], totals[warp][16 * i + 8 * h + g][1] = sum[i][h];
      }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float top = base[i][h];
        const float all = all_parts(totals[warp - part][16 * i + 8 * h + g], ROWS * 2, parts, LOG2E, top), factor = rebase(base[i][h], top, LOG2E) / all;
        float *to = room + (warp * ROWS + 16 * i + 8 * h + g) * PITCH;
        Columns::leave(out[i], h, factor, to);
      }
    __syncthreads();
    constexpr int CHUNKS = D / OWN;
    o += (head * keys + first) * D;
#pragma unroll 1
    for (int n = threadIdx.x; n < queries * CHUNKS; n += blockDim.x) {
      const int row = n / CHUNKS, chunk = n % CHUNKS;
      if (first + row >= keys) break;
      float y[OWN] = {};
#pragma unroll
      for (int p = 0; p < WARPS; p++) {
        if (p >= parts) break;
        const float *x = room + ((row / ROWS * parts + p) * ROWS + row % ROWS) * PITCH + chunk * OWN;
#pragma unroll
        for (int e = 0; e < OWN; e += 4) {
          const pack<float> z = load_pack((const pack<float> *)(x + e));
#pragma unroll
          for (int f = 0; f < 4; f++) y[e + f] += z.at[f];
        }
      }
      unsigned w[4];
#pragma unroll
      for (int e = 0; e < 4; e++) {
        if constexpr (sizeof(T) == 2)
          w[e] = Pair<T>::of(y[2 * e], y[2 * e + 1]);
        else
          w[e] = __float_as_uint(y[e]);
      }
      store_pack((pack<unsigned> *)(o + row * D) + chunk, pack<unsigned>{{w[0], w[1], w[2], w[3]}});
    }
  }
};

#define RIDGE_SOFTMAX_V(entry, T, D, MQ)                                                                            \
  RIDGE_KERNEL(entry, (SoftmaxV<T, D, MQ>::THREADS))                                                                \
  (int64_t heads, int64_t keys, int64_t parts, const T *s, const T *v, T *o) {                                      \
    SoftmaxV<T, D, MQ>::outputs(heads, (int)keys, (int)parts, s, v, o);                                             \
  }                                                                                                                 \
  RIDGE_ENTRY(entry)

#endif
