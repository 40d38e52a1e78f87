// The body of attention_DTYPE_sm90.cu: o[i,:] = Σ_j softmax_j(scale·q[i,:]·k[j,:])·v[j,:] on Hopper's tensor cores, as attention_simt.cuh's attention
// (causal: j ≤ i + skv − sq, groups of heads, a query that sees no key gives 0); d = 64, 128 or 256, tensors at multiples of 16 bytes, sq and skv > 0.
//
// FLOP: 4·d + 6 a visible pair. Bytes: q and o once, k and v once for a block's queries (from L2).
// Design: FlashAttention-3 (Shah et al. 2024). A thread of the first warpgroup orders q, k and v by TMA; each of three (d = 256: two) others has 64 queries,
// whose scores, weights and outputs never leave its registers. Within a warpgroup a tile's q·kᵀ is issued before the tile before's weights·v, so that
// its softmax runs beside a product; the warpgroups take turns to issue (named barriers), so that it also runs beside the others' products. Weights are rounded to bf16
// as they go to wgmma from registers. The sum is that of the rounded ones: eight columns of ones beside v, which all tiles share, so that wgmma adds them up (d = 256: additions).
// Tiles that no query of a block sees are left out, those at the mask's edge are masked.
// A block an SM; the hardware gives out the next one. Causal: those with the most keys first, over as many heads as L2 holds. Blocks that would leave SMs idle, few or the last round's,
// share their keys with others, and a second launch puts the parts together (wgmma.go).
//
// Counts a tile of keys, an SM; a scheduler has one warp of each warpgroup (disassembled, without masks and changes of base, which few tiles have):
//   d                                64 (192 × 128)   128 (192 × 80)    256 (128 × 80)
//   wgmma, cycles of the tensor cores    1632             1980              2560
//   ex2, cycles of 8 a warp              1536             960               640
//   issue slots of a scheduler           980              810               730
//   shared memory, bytes a cycle         97               109               122       of 128
//   L2, bytes a cycle                    20               21                32        of 64
//   cycles on an H200                    2500*            2140*             2640      * before versions 8 and 4: ex2 1440; plain sums of weights that are not rounded
// so tensor cores bind at d = 128 and 256, which ran at 1.48 to 1.6 GHz of 1.98 (700 W); at d = 64, 1.77 GHz, a warpgroup's own way did: version 3's loop took 2880 cycles, 1616
// without maximum, ex2 and sums, 2270 without ex2, 2520 without the maximum. Hence what counts there is instructions between two products, the sums of rounded weights above all.
//
// Versions: 1 as described, two warpgroups and 128 keys at d = 128, sums by additions, at d = 64 every 16th ex2 by a polynomial; 2 base of the exponents kept until a maximum passes
// it by 4: 34 to 130 instructions a tile fewer; 3 the wait for the next k before the one for weights·v: ptxas had put all ex2 behind both; 4 columns of ones (130 of 475
// instructions at d = 64 for 0.06 of its wgmma); 5 keys shared; 6 causal heads in sets of as many within L2, not its half; 7 192 queries and 80 keys at d = 128, where the same
// kernel with plain sums kept tensor cores at 0.90, not 0.83; 8 no polynomial: with columns of ones it cost (d = 64, causal: 510 with every 16th, 529 without, 491 with every 8th).
// H200, 16 heads of 8192, TFLOP/s, beside cuDNN 9.19, SDPA's fastest, in the same run:
//   d = 64           3: 431 and 475;   4: 499;   5: 561;   7: 559 and 495;   causal 3: 421 and 406, 4: 488, 6: 522, 7: 521 and 418, 8: 529 and 407
//   d = 128          3: 614 and 633;   7: 775 and 698;   causal 3: 593 and 511, 7: 737 and 571;   32 heads on 8 of k and v, causal 7: 734 and 590
//   d = 256          3: 745 and 674;   7: 795 and 705;   causal 7: 772 and 597
// (8 at d = 64, not causal: not yet measured.) Version 3 was predicted at 0.55 to 0.66 of the roof at the clock held at d = 64, 0.74 to 0.84 at 128 and 0.65 to 0.76 at 256; it had 0.45,
// 0.71 and 0.93 (roofs of 960, 860 and 800 TFLOP/s).
// Measured beside version 3 and left: no turns 409 (d = 128: 618); a turn that ends with q·kᵀ 414 (521); q from registers 424 (625); d = 64 by two blocks an SM of two warpgroups each
// 430 to 456; d = 128 with 112, 144, 160 and 176 keys 604 to 615. Beside 7 and 8: d = 64 with four warpgroups and 64 keys 574 and causal 538; d = 128, two warpgroups, with 128, 112 and 144
// keys 728, 712 and 727, causal 702, 684 and 687 of 743; three with 64 keys, causal 703; four stages 742.
// Weak: few queries (one of 32 heads, 8192 keys, without parts: 118 us, cuDNN 11), for which attention_decode.cuh is preferred: 192 rows of a tile for one, and those that share a head of
// k and v are not put together; small ones (8 heads of 512, d = 64: 9.8 us, cuDNN 8.7). Next: k and v by multicast to two blocks; the end of a block under the next one's start.
#ifndef RIDGE_ATTENTION_WGMMA_CUH
#define RIDGE_ATTENTION_WGMMA_CUH

#include "attention_base.cuh"
#include "ptx_mma.cuh"
#include "ptx_tma.cuh"
#include "wgmma_columns.cuh"

struct HopperHeads {
  int64_t heads, h, hkv; // query heads of all sequences, and heads of one
  int sq, skv;
  bool causal;
  float scale;
};

// Blocks from `whole` on share their keys among `parts` of `tiles` tiles each; a part leaves in `sums` its outputs, not yet divided, and behind those of all `count` parts the
// base of its exponents and the sum of its weights, for each query.
struct KeyParts {
  int64_t whole;
  int parts, tiles;
  int64_t count;
  float *sums;
};

// D columns; a block has GROUPS · 64 queries, tiles of KEYS keys, STAGES of them for k and as many for v.
template <int D, int GROUPS, int KEYS, int STAGES> struct WgmmaAttention {
  static constexpr int QUERIES = 64 * GROUPS, THREADS = 128 * (GROUPS + 1);
  static constexpr int Q_PART = QUERIES * 128, PART = KEYS * 128; // 64 columns of all rows
  static constexpr int Q_BYTES = D / 64 * Q_PART, TILE = D / 64 * PART;
  // Sums of the weights: d = 256 adds them up; else 8 columns of ones behind v let wgmma do it, in sums of their own behind the outputs.
  static constexpr bool ONES = D < 256;
  static constexpr int ONES_BYTES = ONES ? 16 * 128 : 0, SHARED = 1024 + Q_BYTES + 2 * STAGES * TILE + ONES_BYTES, OUTS = D / 2 + (ONES ? 4 : 0);
  static constexpr int TURN = 1, DONE = TURN + GROUPS; // named barriers: one a consumer each
  static_assert(D % 64 == 0 && KEYS % 16 == 0, "parts of 64 columns, steps of 16 keys");

  // One of STAGES, and the parity of the barrier's phase that it is in.
  struct Slot {
    int at = 0;
    unsigned phase = 0;
    __device__ __forceinline__ void next() {
      if (++at == STAGES) at = 0, phase ^= 1;
    }
  };

  struct Room { // in shared memory; a barrier for each stage: the bytes are there, and every warp has waited for what read them
    shared_at q, k, v, ones, q_full, k_full, k_empty, v_full, v_empty;
  };

  // What a block does: queries from `first` of a head, and those of the tiles of keys that some of them sees from `from` on. part: of all parts, negative for all keys of the queries.
  struct Work {
    int64_t head, part;
    int first, kv, from, tiles;
  };

  // `together` heads take turns, so that their k and v stay in the second-level cache; of those, blocks with the most keys come first.
  static __device__ __forceinline__ Work work_of(const HopperHeads &a, int64_t together, const KeyParts &p, int64_t block) {
    Work w;
    w.part = block - p.whole;
    if (w.part >= 0) block = p.whole + w.part / p.parts;
    const int64_t blocks = (a.sq + QUERIES - 1) / QUERIES, set = block / (together * blocks), within = block - set * together * blocks;
    const int64_t count = min(together, a.heads - set * together);
    w.head = set * together + within % count;
    w.first = (int)(blocks - 1 - within / count) * QUERIES;
    w.kv = (int)(w.head / a.h * a.hkv + w.head % a.h / (a.h / a.hkv));
    const int seen = a.causal ? max(0, min(a.skv, w.first + QUERIES + a.skv - a.sq)) : a.skv;
    w.from = 0, w.tiles = (seen + KEYS - 1) / KEYS;
    if (w.part >= 0) {
      w.from = (int)(w.part % p.parts) * p.tiles;
      w.tiles = max(0, min(w.tiles - w.from, p.tiles));
    }
    return w;
  }

  static __device__ __forceinline__ void load(shared_at to, const ridge_tensor_map &map, shared_at full, shared_at empty, Slot &slot, int row, int head) {
    const shared_at bar = full + 8 * slot.at;
    mbarrier_wait(empty + 8 * slot.at, slot.phase ^ 1);
    mbarrier_expect(bar, TILE);
#pragma unroll
    for (int c = 0; c < D / 64; c++) tma_load(to + slot.at * TILE + c * PART, map, bar, 64 * c, row, head);
    slot.next();
  }

  // In the order in which they are used: a tile of v is read after the scores of the next tile.
  static __device__ __forceinline__ void produce(const Work &w, const Room &at, const ridge_tensor_map &q, const ridge_tensor_map &k, const ridge_tensor_map &v) {
    Slot ks, vs;
    mbarrier_expect(at.q_full, Q_BYTES);
#pragma unroll
    for (int c = 0; c < D / 64; c++) tma_load(at.q + c * Q_PART, q, at.q_full, 64 * c, w.first, (int)w.head);
    load(at.k, k, at.k_full, at.k_empty, ks, w.from * KEYS, w.kv);
    for (int n = 1; n < w.tiles; n++) {
      load(at.k, k, at.k_full, at.k_empty, ks, (w.from + n) * KEYS, w.kv);
      load(at.v, v, at.v_full, at.v_empty, vs, (w.from + n - 1) * KEYS, w.kv);
    }
    load(at.v, v, at.v_full, at.v_empty, vs, (w.from + w.tiles - 1) * KEYS, w.kv);
  }

  // score = q·kᵀ of a tile, as a group.
  static __device__ __forceinline__ void scores(float (&score)[KEYS / 2], uint64_t q, uint64_t k) {
    wgmma_shared<true>(score, q, k);
#pragma unroll
    for (int s = 1; s < D / 16; s++) wgmma_shared<false>(score, q + (s / 4 * Q_PART >> 4) + s % 4 * 2, k + (s / 4 * PART >> 4) + s % 4 * 2);
    wgmma_commit();
  }

  // out += weights·v of a tile, as a group. ones: what leads from the last 64 columns of the tile to the columns of ones, which are the same for each 16 keys, as the descriptor has it.
  static __device__ __forceinline__ void outputs(float (&out)[OUTS], unsigned (&weight)[KEYS / 16][4], uint64_t v, uint64_t ones) {
#pragma unroll
    for (int s = 0; s < KEYS / 16; s++) {
      constexpr uint64_t STEP = 16 * 128 >> 4, LAST = (D / 64 - 1) * PART >> 4;
      if constexpr (ONES) {
        if constexpr (D == 128) wgmma_columns_64<0>(out, weight[s], v + s * STEP);
        wgmma_columns_72<D / 2 - 32>(out, weight[s], v + LAST + s * STEP + (ones - s * STEP << 16));
      } else {
        wgmma_registers(out, weight[s], v + s * STEP);
      }
    }
    wgmma_commit();
  }

  // Whether a query sees a key from `from` on.
  static __device__ __forceinline__ bool sees(const HopperHeads &a, int query, int from) { return (a.causal ? min(a.skv, query + a.skv - a.sq + 1) : a.skv) > from; }

  // Scores of the lane's keys become minus infinity where there is no key or it is masked.
  static __device__ __forceinline__ void mask(const HopperHeads &a, float (&score)[KEYS / 2], int key, int query) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int end = a.causal ? min(a.skv, query + 8 * h + a.skv - a.sq + 1) : a.skv, left = end - key; // keys that are seen from this lane's first
#pragma unroll
      for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
        for (int e = 0; e < 2; e++)
          if (8 * j + e >= left) score[4 * j + 2 * h + e] = -INFINITY;
    }
  }

  // The largest score of the lane's row h, which its four lanes share.
  static __device__ __forceinline__ float largest(const float (&score)[KEYS / 2], int h) {
    float top = fmaxf(score[2 * h], score[2 * h + 1]);
#pragma unroll
    for (int j = 1; j < KEYS / 8; j++) top = fmaxf(top, fmaxf(score[4 * j + 2 * h], score[4 * j + 2 * h + 1]));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    return fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
  }

  // A lane's two rows: base (attention_base.cuh), c·base and the sum of the weights. far: of some lane of the warp c·base is far from 0, so that scores become differences and it counts as 0.
  struct Rows {
    float base[2] = {NOTHING, NOTHING}, offset[2] = {}, sum[2] = {};
    bool far = true;
  };

  // Scores become weights. base is at most 4 below the row's maximum in their exponents' units: weights up to 16 are as exact as weights up to 1, and what
  // was summed before has seldom to be brought to a new base. True: it has, by factor.
  static __device__ __forceinline__ bool weigh(float (&score)[KEYS / 2], float c, float slack, Rows &r, float (&factor)[2]) {
    const float top[2] = {largest(score, 0), largest(score, 1)};
    const bool changed = __ballot_sync(0xffffffffu, top[0] - r.base[0] > slack || top[1] - r.base[1] > slack) != 0;
    if (changed) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const float now = fmaxf(r.base[h], top[h]);
        factor[h] = rebase(r.base[h], now, c);
        r.base[h] = now, r.offset[h] = now * c, r.sum[h] *= factor[h];
      }
      r.far = __ballot_sync(0xffffffffu, fmaxf(fabsf(r.offset[0]), fabsf(r.offset[1])) > FAR) != 0;
      if (r.far) r.offset[0] = r.offset[1] = 0;
    }
    if (r.far) {
#pragma unroll
      for (int i = 0; i < KEYS / 2; i++) score[i] -= r.base[i / 2 % 2];
    }
#pragma unroll
    for (int i = 0; i < KEYS / 2; i++) score[i] = exp2_fast(fmaf(score[i], c, -r.offset[i / 2 % 2]));
    return changed;
  }

  // The weights as pairs of bf16, as wgmma takes them; sum: the lane's part of those of the rounded ones, where no column does it.
  static __device__ __forceinline__ void round(const float (&score)[KEYS / 2], unsigned (&weight)[KEYS / 16][4], float (&sum)[2]) {
    float add[2] = {};
#pragma unroll
    for (int i = 0; i < KEYS / 4; i++) {
      const unsigned w = Pair<ridge_bf16>::of(score[2 * i], score[2 * i + 1]);
      weight[i / 4][i % 4] = w;
      if (!ONES) add[i % 2] += Pair<ridge_bf16>::low(w) + Pair<ridge_bf16>::high(w);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) sum[h] += add[h];
  }

  // A warp's 16 rows leave through the room of its queries, as they lay there, in pieces of 128 bytes and more.
  static __device__ __forceinline__ void store(const float (&out)[OUTS], const float (&inverse)[2], shared_at mine, int rows, ridge_bf16 *o) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int j = 0; j < D / 8; j++)
        store_shared(mine + j / 8 * Q_PART + (g + 8 * h) * 128 + ((j % 8 ^ g) << 4) + 4 * t,
                     Pair<ridge_bf16>::of(out[4 * j + 2 * h] * inverse[h], out[4 * j + 2 * h + 1] * inverse[h]));
    __syncwarp();
    constexpr int CHUNKS = D / 8, APART = 32 / CHUNKS; // of 16 bytes a row, and rows at once
    const int chunk = lane % CHUNKS;
#pragma unroll
    for (int r = lane / CHUNKS; r < 16; r += APART) {
      unsigned words[4];
      load_shared(words, mine + chunk / 8 * Q_PART + r * 128 + ((chunk % 8 ^ r % 8) << 4));
      if (r < rows) store_pack((pack<unsigned> *)(o + r * D) + chunk, pack<unsigned>{{words[0], words[1], words[2], words[3]}});
    }
  }

  // Where a warp's pieces of 16 bytes of a part begin, one of four outputs a lane and 8 columns, and where a lane's rows of bases and sums do.
  static __device__ __forceinline__ pack<float> *pieces(const KeyParts &p, int64_t part, int group, int warp) {
    return (pack<float> *)p.sums + ((part * GROUPS + group) * 4 + warp) * (D / 8 * 32) + threadIdx.x % 32;
  }
  static __device__ __forceinline__ float *totals(const KeyParts &p, int64_t part, int group, int warp) {
    return p.sums + p.count * QUERIES * D + (part * QUERIES + 64 * group + 16 * warp + threadIdx.x % 32 / 4) * 2;
  }

  static __device__ __forceinline__ void store_part(const float (&out)[OUTS], const Rows &r, const KeyParts &p, int64_t part, int group, int warp) {
    pack<float> *to = pieces(p, part, group, warp);
    float *row = totals(p, part, group, warp);
#pragma unroll
    for (int j = 0; j < D / 8; j++) store_pack(to + 32 * j, pack<float>{{out[4 * j], out[4 * j + 1], out[4 * j + 2], out[4 * j + 3]}});
#pragma unroll
    for (int h = 0; h < 2; h++)
      if (threadIdx.x % 4 == 0) row[16 * h] = r.base[h], row[16 * h + 1] = r.sum[h];
  }

  // The second launch: a warp brings the parts of 64 columns (blockIdx.y) of its 16 queries to one base and divides.
  static __device__ __forceinline__ void merge(const HopperHeads &a, int64_t together, const KeyParts &p, ridge_bf16 *o) {
    const int64_t split = blockIdx.x / GROUPS;
    const int group = blockIdx.x % GROUPS, warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = 64 * blockIdx.y;
    const Work w = work_of(a, together, p, p.whole + split * p.parts);
    const int row0 = w.first + 64 * group + 16 * warp + lane / 4;
    float out[8][4] = {}, base[2] = {NOTHING, NOTHING}, sum[2] = {};
    if (row0 - lane / 4 >= a.sq) return;
    const float c = a.scale * LOG2E;
    for (int64_t part = split * p.parts; part < (split + 1) * p.parts; part++) {
      const pack<float> *from = pieces(p, part, group, warp) + 32 * (column / 8);
      const float *row = totals(p, part, group, warp);
      float old[2], add[2];
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const float b = row[16 * h], now = fmaxf(base[h], b);
        old[h] = rebase(base[h], now, c), add[h] = rebase(b, now, c);
        base[h] = now, sum[h] = sum[h] * old[h] + row[16 * h + 1] * add[h];
      }
#pragma unroll
      for (int j = 0; j < 8; j++) {
        const pack<float> x = load_pack(from + 32 * j);
#pragma unroll
        for (int e = 0; e < 4; e++) out[j][e] = out[j][e] * old[e / 2] + x.at[e] * add[e / 2];
      }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float inverse = sees(a, row0 + 8 * h, 0) ? 1 / sum[h] : 0.0f;
      unsigned *to = (unsigned *)(o + (w.head * a.sq + row0 + 8 * h) * D + column) + lane % 4;
      if (row0 + 8 * h < a.sq) {
#pragma unroll
        for (int j = 0; j < 8; j++) to[4 * j] = Pair<ridge_bf16>::of(out[j][2 * h] * inverse, out[j][2 * h + 1] * inverse);
      }
    }
  }

  static __device__ __forceinline__ void consume(const HopperHeads &a, const Work &w, const Room &at, const KeyParts &p, int group, ridge_bf16 *o) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, next = group + 1 == GROUPS ? 0 : group + 1;
    const int row0 = w.first + 64 * group + 16 * warp; // of the warp
    const uint64_t q = wgmma_operand(at.q + group * 8192, 16, 1024), k = wgmma_operand(at.k, 16, 1024), v = wgmma_operand(at.v, ONES ? 0 : PART, 1024);
    const uint64_t ones = at.ones - at.v - (D / 64 - 1) * PART >> 4; // from the first stage of v
    const float c = a.scale * LOG2E;
    const int visible = a.causal ? min(a.skv, row0 + a.skv - a.sq + 1) : a.skv; // keys that the warp's first query sees
    float out[OUTS] = {}, score[KEYS / 2], factor[2] = {1, 1};
    Rows r;
    unsigned weight[KEYS / 16][4];
    auto take = [&](int n) { // scores of the block's tile n
      n += w.from;
      if ((n + 1) * KEYS > visible) mask(a, score, n * KEYS + lane % 4 * 2, row0 + lane / 4);
      return weigh(score, c, 4 / c, r, factor);
    };
    if (w.tiles > 0) {
      Slot ks, vs;
      mbarrier_wait(at.q_full, 0);
      mbarrier_wait(at.k_full, 0);
      if (GROUPS > 1 && group == GROUPS - 1) named_barrier_arrive(TURN, 256); // the first one's turn
      wgmma_fence();
      scores(score, q, k);
      wgmma_wait<0>();
      wgmma_settled(score);
      if (lane == 0) mbarrier_arrive(at.k_empty);
      ks.next();
      take(0);
      round(score, weight, r.sum);
      if (w.tiles > 1) mbarrier_wait(at.k_full + 8 * ks.at, ks.phase);
      for (int n = 1; n < w.tiles; n++) {
        if (GROUPS > 1) named_barrier(TURN + group, 256);
        wgmma_fence();
        scores(score, q, k + ks.at * (TILE >> 4));
        mbarrier_wait(at.v_full + 8 * vs.at, vs.phase);
        outputs(out, weight, v + vs.at * (TILE >> 4), ones - vs.at * (TILE >> 4));
        if (GROUPS > 1) named_barrier_arrive(TURN + next, 256);
        wgmma_wait<1>();
        wgmma_settled(score);
        if (lane == 0) mbarrier_arrive(at.k_empty + 8 * ks.at);
        ks.next();
        const bool changed = take(n);
        wgmma_settled(score);
        if (n + 1 < w.tiles) mbarrier_wait(at.k_full + 8 * ks.at, ks.phase); // here, because ptxas calculates the weights behind a wgmma_wait with no branch before it
        wgmma_wait<0>();
        wgmma_settled(out);
        if (lane == 0) mbarrier_arrive(at.v_empty + 8 * vs.at);
        vs.next();
        round(score, weight, r.sum);
        if (changed) {
#pragma unroll
          for (int i = 0; i < OUTS; i++) out[i] *= factor[i / 2 % 2];
        }
      }
      if (GROUPS > 1 && group == 0) named_barrier(TURN, 256); // the turn that is left
      mbarrier_wait(at.v_full + 8 * vs.at, vs.phase);
      wgmma_fence();
      outputs(out, weight, v + vs.at * (TILE >> 4), ones - vs.at * (TILE >> 4));
      wgmma_wait<0>();
      wgmma_settled(out);
    }
    float inverse[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      if (ONES) {
        r.sum[h] = out[OUTS - 4 + 2 * h];
      } else {
        r.sum[h] += __shfl_xor_sync(0xffffffffu, r.sum[h], 1);
        r.sum[h] += __shfl_xor_sync(0xffffffffu, r.sum[h], 2);
      }
      inverse[h] = 1 / r.sum[h];
      if (!sees(a, row0 + lane / 4 + 8 * h, w.from * KEYS)) { // weights of 0, whatever they met
        inverse[h] = 0;
#pragma unroll
        for (int i = 0; i < OUTS; i++)
          if (i / 2 % 2 == h) out[i] = 0;
      }
    }
    if (w.part >= 0) return store_part(out, r, p, w.part, group, warp);
    named_barrier(DONE + group, 128); // all four warps' wgmma have read the queries
    store(out, inverse, at.q + group * 8192 + warp * 2048, a.sq - row0, o + (w.head * a.sq + row0) * D);
  }

  static __device__ __forceinline__ void attend(const HopperHeads &a, int64_t together, const KeyParts &p, const ridge_tensor_map &q, const ridge_tensor_map &k,
                                                const ridge_tensor_map &v, ridge_bf16 *o) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [1 + 4 * STAGES]);
    Room at;
    at.q = (shared_address(dynamic) + 1023) & ~(shared_at)1023, at.k = at.q + Q_BYTES, at.v = at.k + STAGES * TILE, at.ones = at.v + STAGES * TILE;
    at.q_full = shared_address(bars), at.k_full = at.q_full + 8, at.k_empty = at.k_full + 8 * STAGES, at.v_full = at.k_empty + 8 * STAGES, at.v_empty = at.v_full + 8 * STAGES;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0);
    if (tid == 0) {
      mbarrier_init(at.q_full, 1);
      for (int s = 0; s < STAGES; s++) {
        mbarrier_init(at.k_full + 8 * s, 1), mbarrier_init(at.v_full + 8 * s, 1);
        mbarrier_init(at.k_empty + 8 * s, 4 * GROUPS), mbarrier_init(at.v_empty + 8 * s, 4 * GROUPS);
      }
      mbarrier_init_fence();
      tma_prefetch(q), tma_prefetch(k), tma_prefetch(v);
    }
    if (ONES && tid < ONES_BYTES / 16) {
      const unsigned pairs[4] = {0x3f803f80u, 0x3f803f80u, 0x3f803f80u, 0x3f803f80u}; // ones as bf16
      store_shared(at.ones + 16 * tid, pairs);
      proxy_fence();
    }
    __syncthreads();
    const Work w = work_of(a, together, p, blockIdx.x);
    if (group == 0) {
      registers_fewer<GROUPS == 2 ? 24 : 32>();
      if (tid == 0 && w.tiles > 0) produce(w, at, q, k, v);
      return;
    }
    registers_more<GROUPS == 2 ? 240 : 160>();
    consume(a, w, at, p, group - 1, o);
  }
};

#define RIDGE_ATTENTION_WGMMA(entry, D, GROUPS, KEYS, STAGES)                                                                                \
  RIDGE_KERNEL_ALONE(entry, (WgmmaAttention<D, GROUPS, KEYS, STAGES>::THREADS))                                                              \
  (RIDGE_TENSOR_MAP(q), RIDGE_TENSOR_MAP(k), RIDGE_TENSOR_MAP(v), int64_t heads, int64_t h, int64_t hkv, int64_t sq, int64_t skv,            \
   int64_t causal, int64_t together, double scale, ridge_bf16 *o, int64_t whole, int64_t parts, int64_t tiles, int64_t count, float *sums) { \
    const HopperHeads a = {heads, h, hkv, (int)sq, (int)skv, causal != 0, (float)scale};                                                     \
    WgmmaAttention<D, GROUPS, KEYS, STAGES>::attend(a, together, KeyParts{whole, (int)parts, (int)tiles, count, sums}, q, k, v, o);          \
  }                                                                                                                                          \
  RIDGE_ENTRY(entry)                                                                                                                         \
  RIDGE_KERNEL(entry##_merge, 128)                                                                                                           \
  (int64_t heads, int64_t h, int64_t hkv, int64_t sq, int64_t skv, int64_t causal, int64_t together, double scale, ridge_bf16 *o,            \
   int64_t whole, int64_t parts, int64_t count, float *sums) {                                                                               \
    const HopperHeads a = {heads, h, hkv, (int)sq, (int)skv, causal != 0, (float)scale};                                                     \
    WgmmaAttention<D, GROUPS, KEYS, STAGES>::merge(a, together, KeyParts{whole, (int)parts, 0, count, sums}, o);                             \
  }                                                                                                                                          \
  RIDGE_ENTRY(entry##_merge)

#endif
