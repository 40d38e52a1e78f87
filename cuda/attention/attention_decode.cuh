// The body of attention_DTYPE_sm80_decode.cu: o[i,:] = Σ_j softmax_j(scale·q[i,:]·k[j,:])·v[j,:] of few queries and many keys on tensor cores (causal: j ≤ i + skv − sq, groups of
// heads, each query sees a key); d = 64, 80, 96 or 128, at most 16 queries of all the heads that share k and v, tensors at multiples of 16 bytes.
//
// FLOP: 4·d + 6 a visible pair. Bytes: all once; k and v, which is nearly all there is, from DRAM. Parts of the keys leave and take 4·(d + 2) bytes a query besides.
// Design: the queries of a head of k and v, all its query heads', are the 16 rows of mma, so that k and v are read once for them. A block of 4 warps has a part of the keys in tiles of 64
// (decode.go), a warp 16 of each, with a base, sums and outputs of its own, which a block puts together at the end, and a second launch those of the parts.
// Operands need neither barriers nor ldmatrix: a product does not mind the order of what it sums over, nor in which order keys or columns are its rows, so that each lane copies
// (cp.async) 16 bytes of a row that lie together, to a place of its own in shared memory, and takes them as they are when they have come: three batches of 16 keys a warp.
//
// Counts (sm_90a, d = 128 and 64), a warp and batch of 16 keys, 8 and 4 KB: 32 and 16 mma, 10 ex2, 16 and 8 copies, 16 and 8 reads of shared memory of 4 wavefronts, 32 and 16 to pair
// v; 385 and 305 instructions, of which 68 and 36 scale outputs where a maximum grew. 164 and 95 registers, 96 and 48 KB, two and four blocks a multiprocessor: up to 192 KB on their
// way. Since then there is a subtraction more a weight (attention_base.cuh), 8 instructions. Four schedulers could take 85 and 53 bytes a cycle; an H200's memory gives a multiprocessor 18, its second-level cache some 40.
//   one query, 8192 keys        blocks       k and v     predicted on an H200, merge included (attention_wgmma.cuh by its counts: 26 tiles of 2140 cycles, then its merge)
//   32 heads, d = 128           256 of 1024  134 MB      36 to 41 us, 33 by the bytes (36 to 40)
//   32 heads on 8, d = 128      256 of 256   34 MB       10 to 13, 8 by the bytes, less where the second-level cache holds them (36 to 40; cuDNN took 11)
//   16 heads, d = 64            512 of 256   34 MB       10 to 13
// not yet measured. Versions: 1 as described.
#ifndef RIDGE_ATTENTION_DECODE_CUH
#define RIDGE_ATTENTION_DECODE_CUH

#include "attention_parts.cuh"

struct DecodeHeads {
  int64_t skv, tiles; // tiles: of 64 keys that a part has
  int sq, rows, parts; // rows: queries of all heads that share k and v
  bool causal;
  float scale;
};

template <int D> struct Decode {
  typedef ridge_bf16 T;
  typedef PartColumns<T, D> Columns;
  static constexpr int WARPS = 4, THREADS = 32 * WARPS, BATCH = 16, TILE = WARPS * BATCH, STAGES = 3, ROWS = 16, PITCH = D + 4;
  static constexpr int HALF = BATCH * D * 2, SHARED = WARPS * STAGES * 2 * HALF; // bytes of k, and of v, of a batch
  static_assert(D % 16 == 0 && WARPS * ROWS * PITCH * 4 <= SHARED, "the warps' outputs take the room of k and v");

  // What a lane takes of a row of k: 16 bytes of each 64, 8 of the last 32; and of a row of v: 16 bytes of each 128, then 8, then 4. Places lie lane by lane.
  static constexpr int K_WHOLE = D / 32, K_REST = BATCH / 8 * K_WHOLE * 512, V_HALF = 4 * Columns::WHOLE * 512, V_QUARTER = V_HALF + (Columns::HALF ? 4 * 256 : 0);

  static __device__ __forceinline__ int key_of(int e) { return threadIdx.x % 4 * 2 + e / 2 * 8 + e % 2; } // of a batch, of a lane's four of v

  static __device__ __forceinline__ void fetch(shared_at to, const T *k, const T *v, int64_t first, int64_t keys) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int j = 0; j < BATCH / 8; j++) {
      const int64_t key = first + 8 * j + g;
      const T *row = k + (key < keys ? key * D : 0);
      const int given = key < keys ? 16 : 0;
#pragma unroll
      for (int s = 0; s < K_WHOLE; s++) copy_async<16>(to + (j * K_WHOLE + s) * 512 + lane * 16, row + s * 32 + t * 8, given);
      if constexpr (D % 32 != 0) copy_async<8>(to + K_REST + j * 256 + lane * 8, row + K_WHOLE * 32 + t * 4, given / 2);
    }
    to += HALF;
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const int64_t key = first + key_of(e);
      const T *row = v + (key < keys ? key * D : 0);
      const int given = key < keys ? 16 : 0;
#pragma unroll
      for (int p = 0; p < Columns::WHOLE; p++) copy_async<16>(to + (e * Columns::WHOLE + p) * 512 + lane * 16, row + p * 64 + g * 8, given);
      if constexpr (Columns::HALF) copy_async<8>(to + V_HALF + e * 256 + lane * 8, row + Columns::WHOLE * 64 + g * 4, given / 2);
      if constexpr (Columns::QUARTER) copy_async<4>(to + V_QUARTER + e * 128 + lane * 4, row + D - 16 + g * 2, given / 4);
    }
  }

  // Scores of a batch: tile j has keys 8j…
  static __device__ __forceinline__ void scores(float (&score)[2][4], const unsigned (&q)[D / 16][4], const unsigned char *from) {
    const int lane = threadIdx.x % 32;
    float even[2][4] = {}, odd[2][4] = {}; // half as many products one after the other
#pragma unroll
    for (int s = 0; s < K_WHOLE; s++)
#pragma unroll
      for (int j = 0; j < 2; j++) {
        unsigned w[4];
        load_words<4>(w, from + (j * K_WHOLE + s) * 512 + lane * 16);
        const unsigned lo[2] = {w[0], w[1]}, hi[2] = {w[2], w[3]};
        MmaBf16::mma(even[j], q[2 * s], lo);
        MmaBf16::mma(odd[j], q[2 * s + 1], hi);
      }
    if constexpr (D % 32 != 0) {
#pragma unroll
      for (int j = 0; j < 2; j++) {
        unsigned w[2];
        load_words<2>(w, from + K_REST + j * 256 + lane * 8);
        MmaBf16::mma(even[j], q[D / 16 - 1], w);
      }
    }
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) score[j][e] = even[j][e] + odd[j][e];
  }

  // COUNT tiles of outputs from `tile` on; the lane's words of its four keys lie `apart` bytes from each other.
  template <int COUNT>
  static __device__ __forceinline__ void piece(float (&out)[D / 8][4], int tile, const unsigned (&weight)[4], const unsigned char *from, int apart) {
    unsigned x[4][COUNT / 2];
#pragma unroll
    for (int e = 0; e < 4; e++) load_words<COUNT / 2>(x[e], from + e * apart);
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
      const unsigned b[2] = {column_pair(x[0][j / 2], x[1][j / 2], j), column_pair(x[2][j / 2], x[3][j / 2], j)};
      MmaBf16::mma(out[tile + j], weight, b);
    }
  }

  static __device__ __forceinline__ void outputs(float (&out)[D / 8][4], const unsigned (&weight)[4], const unsigned char *from) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int p = 0; p < Columns::WHOLE; p++) piece<8>(out, 8 * p, weight, from + p * 512 + lane * 16, Columns::WHOLE * 512);
    if constexpr (Columns::HALF) piece<4>(out, Columns::WHOLE * 8, weight, from + V_HALF + lane * 8, 256);
    if constexpr (Columns::QUARTER) piece<2>(out, D / 8 - 2, weight, from + V_QUARTER + lane * 4, 128);
  }

  // sums: each part's outputs, not yet divided, then the base and the sum of each of its queries. One part: o is written.
  static __device__ __forceinline__ void attend(const DecodeHeads &a, const T *q, const T *k, const T *v, T *o, float *sums) {
    RIDGE_DYNAMIC_SHARED(unsigned char, room);
    RIDGE_SHARED(float, totals, [WARPS][ROWS][2]); // base and sum of a warp's queries
    const int64_t group = blockIdx.x / a.parts, part = blockIdx.x % a.parts;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int64_t begin = part * a.tiles * TILE, end = min(a.skv, begin + a.tiles * TILE);
    const float c = a.scale * LOG2E;
    q += group * a.rows * D, k += group * a.skv * D, v += group * a.skv * D;
    unsigned char *const mine = room + warp * (STAGES * 2 * HALF);
    const shared_at mine_at = shared_address(mine);

    int64_t first = begin + warp * BATCH; // of a batch
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
      if (first + s * TILE < end) fetch(mine_at + s * (2 * HALF), k, v, first + s * TILE, a.skv);
      copy_commit();
    }
    unsigned query[D / 16][4];
    const T *row[2] = {q + min(g, a.rows - 1) * D, q + min(g + 8, a.rows - 1) * D};
#pragma unroll
    for (int s = 0; s < D / 16; s += 2) {
      unsigned w[2][4];
#pragma unroll
      for (int h = 0; h < 2; h++) {
        if (s + 1 < D / 16)
          load_words<4>(w[h], row[h] + s * 16 + t * 8);
        else
          load_words<2>(w[h], row[h] + s * 16 + t * 4);
      }
#pragma unroll
      for (int e = 0; e < 2; e++)
        if (s + e < D / 16) query[s + e][0] = w[0][2 * e], query[s + e][1] = w[1][2 * e], query[s + e][2] = w[0][2 * e + 1], query[s + e][3] = w[1][2 * e + 1];
    }
    int64_t seen[2]; // keys that the lane's queries see
#pragma unroll
    for (int h = 0; h < 2; h++) seen[h] = a.causal ? min(a.skv, (g + 8 * h) % a.sq + a.skv - a.sq + 1) : a.skv;
    const int64_t visible = a.causal ? min(a.skv, a.skv - a.sq + 1) : a.skv; // keys that all queries see

    float out[D / 8][4] = {}, base[2] = {NOTHING, NOTHING}, sum[2] = {};
    for (int stage = 0; first < end; first += TILE) {
      copy_wait<STAGES - 1>();
      const unsigned char *from = mine + stage * (2 * HALF);
      float score[2][4];
      scores(score, query, from);
      if (first + BATCH > visible) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int64_t left = seen[h] - (first + 2 * t); // from the lane's first key
#pragma unroll
          for (int j = 0; j < 2; j++)
#pragma unroll
            for (int e = 0; e < 2; e++)
              if (8 * j + e >= left) score[j][2 * h + e] = -INFINITY;
        }
      }
      float now[2];
#pragma unroll
      for (int h = 0; h < 2; h++) now[h] = fmaxf(base[h], quad_max(fmaxf(fmaxf(score[0][2 * h], score[0][2 * h + 1]), fmaxf(score[1][2 * h], score[1][2 * h + 1]))));
      if (__ballot_sync(0xffffffffu, now[0] > base[0] || now[1] > base[1]) != 0) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const float factor = rebase(base[h], now[h], c);
          base[h] = now[h], sum[h] *= factor;
#pragma unroll
          for (int j = 0; j < D / 8; j++) out[j][2 * h] *= factor, out[j][2 * h + 1] *= factor;
        }
      }
      unsigned weight[4];
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int j = e / 2, h = e % 2;
        weight[e] = Pair<T>::of(rebase(score[j][2 * h], base[h], c), rebase(score[j][2 * h + 1], base[h], c));
        sum[h] += Pair<T>::low(weight[e]) + Pair<T>::high(weight[e]);
      }
      outputs(out, weight, from + HALF);
      if (first + STAGES * TILE < end) fetch(mine_at + stage * (2 * HALF), k, v, first + STAGES * TILE, a.skv);
      copy_commit();
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
    copy_wait<0>();
#pragma unroll
    for (int h = 0; h < 2; h++) {
      sum[h] = quad_sum(sum[h]);
      if (t == 0) totals[warp][g + 8 * h][0] = base[h], totals[warp][g + 8 * h][1] = sum[h];
    }
    __syncthreads(); // and all have read their last batch
    float *const left = sums + gridDim.x * (int64_t)a.rows * D + blockIdx.x * (int64_t)a.rows * 2; // bases and sums
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int r = g + 8 * h;
      float top = base[h];
      const float all = all_parts(totals[0][r], ROWS * 2, WARPS, c, top);
      if (a.parts > 1 && warp == 0 && t == 0 && r < a.rows) left[2 * r] = top, left[2 * r + 1] = all;
      Columns::leave(out, h, a.parts > 1 ? rebase(base[h], top, c) : rebase(base[h], top, c) / all, (float *)room + (warp * ROWS + r) * PITCH);
    }
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < a.rows * (D / 4); i += THREADS) {
      const int r = i / (D / 4), chunk = i % (D / 4);
      float y[4] = {};
#pragma unroll
      for (int w = 0; w < WARPS; w++) {
        const pack<float> x = load_pack((const pack<float> *)((float *)room + (w * ROWS + r) * PITCH) + chunk);
#pragma unroll
        for (int e = 0; e < 4; e++) y[e] += x.at[e];
      }
      if (a.parts > 1)
        store_pack((pack<float> *)(sums + (blockIdx.x * (int64_t)a.rows + r) * D) + chunk, pack<float>{{y[0], y[1], y[2], y[3]}});
      else
        ((Run<unsigned, 2> *)(o + (group * a.rows + r) * D))[chunk] = Run<unsigned, 2>{{Pair<T>::of(y[0], y[1]), Pair<T>::of(y[2], y[3])}};
    }
  }

  // The second launch: a block brings the parts of one query to one base, adds them up and divides. Its warps take turns.
  static __device__ __forceinline__ void merge(int rows, int parts, int64_t blocks, float c, const float *sums, T *o) {
    RIDGE_SHARED(float, room, [WARPS][D]);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t group = blockIdx.x / rows, r = blockIdx.x % rows;
    const float *x = sums + (group * parts * rows + r) * D, *total = sums + blocks * rows * D + (group * parts * rows + r) * 2;
    float top = NOTHING, all = 0;
    for (int p = lane; p < parts; p += 32) top = fmaxf(top, total[p * rows * 2]);
#pragma unroll
    for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    for (int p = lane; p < parts; p += 32) all += total[p * rows * 2 + 1] * rebase(total[p * rows * 2], top, c);
#pragma unroll
    for (int d = 16; d > 0; d /= 2) all += __shfl_xor_sync(0xffffffffu, all, d);
    if (lane < D / 4) {
      float y[4] = {};
#pragma unroll 4
      for (int p = warp; p < parts; p += WARPS) {
        const pack<float> z = load_pack((const pack<float> *)(x + (int64_t)p * rows * D) + lane);
        const float factor = rebase(total[p * rows * 2], top, c);
#pragma unroll
        for (int e = 0; e < 4; e++) y[e] = fmaf(z.at[e], factor, y[e]);
      }
      store_pack((pack<float> *)room[warp] + lane, pack<float>{{y[0], y[1], y[2], y[3]}});
    }
    __syncthreads();
    const float inverse = 1 / all;
    if (threadIdx.x < D / 2) {
      float y[2] = {};
#pragma unroll
      for (int w = 0; w < WARPS; w++) y[0] += room[w][2 * threadIdx.x], y[1] += room[w][2 * threadIdx.x + 1];
      ((unsigned *)(o + (int64_t)blockIdx.x * D))[threadIdx.x] = Pair<T>::of(y[0] * inverse, y[1] * inverse);
    }
  }
};

#define RIDGE_ATTENTION_DECODE(entry, D)                                                                                                            \
  RIDGE_KERNEL(entry, Decode<D>::THREADS)                                                                                                           \
  (int64_t sq, int64_t skv, int64_t rows, int64_t parts, int64_t tiles, int64_t causal, double scale, const ridge_bf16 *q, const ridge_bf16 *k,     \
   const ridge_bf16 *v, ridge_bf16 *o, float *sums) {                                                                                               \
    Decode<D>::attend(DecodeHeads{skv, tiles, (int)sq, (int)rows, (int)parts, causal != 0, (float)scale}, q, k, v, o, sums);                        \
  }                                                                                                                                                 \
  RIDGE_ENTRY(entry)                                                                                                                                \
  RIDGE_KERNEL(entry##_merge, Decode<D>::THREADS)(int64_t rows, int64_t parts, int64_t blocks, double scale, const float *sums, ridge_bf16 *o) {                  \
    Decode<D>::merge((int)rows, (int)parts, blocks, (float)scale * LOG2E, sums, o);                                                                                       \
  }                                                                                                                                                 \
  RIDGE_ENTRY(entry##_merge)

#endif
