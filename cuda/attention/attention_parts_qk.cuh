// The body of qk_softmax in attention_DTYPE_sm80…_parts.cu: p[i,j] = softmax_j(scale·q[i,:]·k[j,:]) of heads of S queries and S keys on tensor cores; rows of p at multiples of
// 16 bytes, d a multiple of 16.
//
// FLOP: 2·d + 6 a pair, fp32 three times the 2·d. Bytes: q and p once; k once for a block's queries (from L2).
// A block has 16·MQ queries for each of its `rows` rows of warps; the `parts` warps of a row have NT·8 keys each of a turn. Where one turn has all keys (ONCE), scores stay in registers
// and become weights there; else they are calculated twice, for maxima and sums first. Nothing is shared but bases and sums: one barrier. Each lane keeps a base of its own until then,
// so that the softmax has no shuffles before.
//
// Counts (sm_90a, d = 64, an H200 at 1.75 GHz; instructions of a warp without what lies behind branches that are seldom taken):
//   bf16 16 × 32 and 16 × 64 once       16 and 32 mma, 36 and 52 ex2, 12 and 20 loads of 16 bytes at once, 620 and 870 instructions, 64 and 68 registers
//   bf16 64 × 32 twice, a turn          first 64 mma, 72 ex2, 476 instructions, then 64, 64 and 531: ex2 binds, 2180 cycles of a multiprocessor for both; 170 registers
//   (since then a subtraction more a weight and loop, attention_base.cuh: 16 to 64 instructions)
//   fp32 32 × 32 twice, a turn          192 mma of tf32, for half of them 479 instructions of the first loop (604 by cvt.rna), 192 of them to split k and q, which each warp does itself
//   shape          blocks    bytes        predicted: bf16, fp32 (the fused kernel of the portable tier and the chain of three, measured on an H200)
//   1 × 128        8         64 KB        3 to 4 us, 3 to 5 (bf16 23.8 and 11.0, fp32 23.7 and 10.3): a start and one way to memory
//   4 × 256        64        768 KB       3 to 4, 4 to 5 (46.4 and 8.2, 48 and 11.3)
//   12 × 512       384       8 MB         7 to 9, 13 to 16; k from L2 25 and 50 MB
//   16 × 2048      512, 1024 142 MB       45 to 58, 210 to 240; p alone 33 and 65, ex2 40 (bf16). The chain's bytes take 163 and 327
// (bytes at bf16.) not yet measured.
// Versions: 1 as described; 2 bf16, 64 × 32: queries in registers as operands, whose words of two rows cost 4 moves an operand and product before: 476 and 531 instructions for 472 and
// 734, 170 registers for 224.
#ifndef RIDGE_ATTENTION_PARTS_QK_CUH
#define RIDGE_ATTENTION_PARTS_QK_CUH

#include "attention_parts.cuh"

template <class T, int D, int MQ, int NT, bool ONCE> struct QkSoftmax {
  typedef PartOperands<T> Operands;
  static constexpr int WARPS = ONCE && NT * (int)sizeof(T) <= 16 ? 16 : 8, THREADS = 32 * WARPS; // at most
  static constexpr int OWN = 16 / (int)sizeof(T), STEP = 4 * OWN; // elements of 16 bytes, and of a row of a quad
  static constexpr int GROUP = OWN / 2;                                                            // tiles of 8 keys whose keys of a lane lie together
  // Operands of queries that stay in registers for all turns: words of two rows take turns in them, which else costs moves each time.
  static constexpr bool KEEP = MQ > 1 && sizeof(T) == 2;
  typedef typename Operands::Left Kept[MQ][KEEP ? D / 16 : 1];
  static constexpr int AHEAD = ONCE || KEEP ? D / STEP : D <= 80 ? 2 : 1; // steps whose operands may be on their way, as far as registers go
  static_assert(NT % GROUP == 0 && D % 16 == 0, "whole groups of keys, and steps");

  // Tile j's key that is column n of a product, from the first of the warp's keys: a lane's columns 2t and 2t + 1 of a group of tiles are OWN keys in order.
  static __device__ __forceinline__ int key_of(int j, int n) { return j / GROUP * GROUP * 8 + n / 2 * OWN + j % GROUP * 2 + n % 2; }

  // The operands of COUNT/2 steps, whose columns of a lane begin at `column`.
  template <int COUNT> static __device__ __forceinline__ void left_operands(typename Operands::Left (&to)[COUNT / 2], const T *q, const int (&at)[2], int column) {
    unsigned x[2][COUNT];
#pragma unroll
    for (int h = 0; h < 2; h++) load_words<COUNT>(x[h], q + at[h] + column);
#pragma unroll
    for (int s = 0; s < COUNT; s += 2) to[s / 2] = typename Operands::Left(x[0][s], x[1][s], x[0][s + 1], x[1][s + 1]);
  }

  // Columns n·STEP… of COUNT/2 steps of all products.
  template <int COUNT>
  static __device__ __forceinline__ void step(float (&score)[MQ][NT][4], const Kept &kept, const T *q, const int (&at)[MQ][2], const T *k, const int (&row)[NT], int n) {
    const int column = n * STEP + threadIdx.x % 4 * (COUNT * 4 / (int)sizeof(T));
    unsigned y[NT][COUNT];
    typename Operands::Left a[MQ][COUNT / 2];
#pragma unroll
    for (int j = 0; j < NT; j++) load_words<COUNT>(y[j], k + row[j] + column);
    if constexpr (!KEEP) {
#pragma unroll
      for (int i = 0; i < MQ; i++) left_operands<COUNT>(a[i], q, at[i], column);
    }
#pragma unroll
    for (int s = 0; s < COUNT / 2; s++)
#pragma unroll
      for (int i = 0; i < MQ; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
          Operands::multiply(score[i][j], KEEP ? kept[i][KEEP ? 2 * n + s : 0] : a[i][s], typename Operands::Right(y[j][2 * s], y[j][2 * s + 1]));
  }

  // Scores of the warp's keys from `first` on; those behind the last are minus infinity.
  static __device__ __forceinline__ void scores(float (&score)[MQ][NT][4], const Kept &kept, const T *q, const int (&at)[MQ][2], const T *k, int first, int keys) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    int row[NT];
#pragma unroll
    for (int j = 0; j < NT; j++) {
      const int key = first + key_of(j, g);
      row[j] = (key < keys ? key : 0) * D;
    }
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int j = 0; j < NT; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) score[i][j][e] = 0;
#pragma unroll AHEAD
    for (int s = 0; s < D / STEP; s++) step<4>(score, kept, q, at, k, row, s);
    if constexpr (D % STEP != 0) step<2>(score, kept, q, at, k, row, D / STEP);
    if (first + NT * 8 > keys) {
#pragma unroll
      for (int j = 0; j < NT; j += GROUP)
        if (first + key_of(j, 2 * t) >= keys) { // keys are a multiple of OWN
#pragma unroll
          for (int i = 0; i < MQ; i++)
#pragma unroll
            for (int e = 0; e < 4 * GROUP; e++) score[i][j + e / 4][e % 4] = -INFINITY;
        }
    }
  }

  // Scores of the lane's row h become weights (attention_base.cuh), base their largest or that of before.
  static __device__ __forceinline__ void take(float (&s)[NT][4], int h, float c, float &base, float &sum) {
    float top = fmaxf(s[0][2 * h], s[0][2 * h + 1]), add = 0;
#pragma unroll
    for (int j = 1; j < NT; j++) top = fmaxf(top, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
    const float now = fmaxf(base, top);
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
      for (int e = 2 * h; e < 2 * h + 2; e++) add += s[j][e] = rebase(s[j][e], now, c);
    sum = sum * rebase(base, now, c) + add, base = now;
  }

  static __device__ __forceinline__ void store(const float (&s)[NT][4], int h, float factor, T *row, int first, int keys) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < NT; j += GROUP) {
      const int key = first + key_of(j, 2 * t);
      unsigned w[4];
#pragma unroll
      for (int e = 0; e < 4; e++) {
        if constexpr (sizeof(T) == 2)
          w[e] = Pair<T>::of(s[j + e][2 * h] * factor, s[j + e][2 * h + 1] * factor);
        else
          w[e] = __float_as_uint(s[j + e / 2][2 * h + e % 2] * factor);
      }
      if (key < keys) store_pack((pack<unsigned> *)(row + key), pack<unsigned>{{w[0], w[1], w[2], w[3]}});
    }
  }

  static __device__ __forceinline__ void weights(int64_t heads, int keys, int parts, float scale, const T *q, const T *k, T *p) {
    RIDGE_SHARED(float, totals, [WARPS][MQ * 16][2]); // base and sum of a warp's queries
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, part = warp % parts, rows = blockDim.x / 32 / parts;
    const int queries = rows * MQ * 16, tiles = (keys + queries - 1) / queries, turn = parts * NT * 8;
    if (tiles == 0 || blockIdx.x >= tiles * heads) return;
    const int64_t head = blockIdx.x / tiles;
    const int row0 = (int)(blockIdx.x % tiles) * queries + warp / parts * MQ * 16 + g, key0 = part * NT * 8;
    const float c = scale * LOG2E;
    int at[MQ][2];
    q += head * keys * D, k += head * keys * D;
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) at[i][h] = min(row0 + 16 * i + 8 * h, keys - 1) * D;
    float score[MQ][NT][4], base[MQ][2], sum[MQ][2] = {};
#pragma unroll
    for (int i = 0; i < MQ; i++) base[i][0] = base[i][1] = NOTHING;
    Kept kept;
    if constexpr (KEEP) {
#pragma unroll
      for (int i = 0; i < MQ; i++)
#pragma unroll
        for (int n = 0; n < D / STEP; n++) {
          typename Operands::Left pair[2];
          left_operands<4>(pair, q, at[i], n * STEP + lane % 4 * OWN);
          kept[i][2 * n] = pair[0], kept[i][2 * n + 1] = pair[1];
        }
      if constexpr (D % STEP != 0) {
#pragma unroll
        for (int i = 0; i < MQ; i++) {
          typename Operands::Left last[1];
          left_operands<2>(last, q, at[i], D / STEP * STEP + lane % 4 * (OWN / 2));
          kept[i][D / 16 - 1] = last[0];
        }
      }
    }
    for (int k0 = key0; k0 < keys || ONCE; k0 += turn) {
      scores(score, kept, q, at, k, k0, keys);
#pragma unroll
      for (int i = 0; i < MQ; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) take(score[i], h, c, base[i][h], sum[i][h]);
      if (ONCE) break;
    }
    float top[MQ][2];
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        top[i][h] = quad_max(base[i][h]);
        const float of_quad = quad_sum(sum[i][h] * rebase(base[i][h], top[i][h], c));
        if (lane % 4 == 0) totals[warp][16 * i + 8 * h + g][0] = top[i][h], totals[warp][16 * i + 8 * h + g][1] = of_quad;
      }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < MQ; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) sum[i][h] = 1 / all_parts(totals[warp - part][16 * i + 8 * h + g], MQ * 16 * 2, parts, c, top[i][h]);
    p += head * keys * keys; // attention.go sees to it that what is added fits
    for (int k0 = key0; k0 < keys; k0 += turn) {
      if (!ONCE) scores(score, kept, q, at, k, k0, keys);
#pragma unroll
      for (int i = 0; i < MQ; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int row = row0 + 16 * i + 8 * h;
          float factor = sum[i][h];
          if (ONCE) {
            factor *= rebase(base[i][h], top[i][h], c);
          } else {
#pragma unroll
            for (int j = 0; j < NT; j++)
#pragma unroll
              for (int e = 2 * h; e < 2 * h + 2; e++) score[i][j][e] = rebase(score[i][j][e], top[i][h], c);
          }
          if (row < keys) store(score[i], h, factor, p + row * keys, k0, keys);
        }
      if (ONCE) break;
    }
  }
};

#define RIDGE_QK_SOFTMAX(entry, T, D, MQ, NT, ONCE)                                                                        \
  RIDGE_KERNEL(entry, (QkSoftmax<T, D, MQ, NT, ONCE>::THREADS))                                                            \
  (int64_t heads, int64_t keys, int64_t parts, double scale, const T *q, const T *k, T *p) {                               \
    QkSoftmax<T, D, MQ, NT, ONCE>::weights(heads, (int)keys, (int)parts, (float)scale, q, k, p);                           \
  }                                                                                                                        \
  RIDGE_ENTRY(entry)

#endif
