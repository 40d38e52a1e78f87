// The two products on tiles of AMX (part of attention_tile.h, on the units of attention_dot.h). The layouts of the dot products are
// those of the tile unit: a row of K as it lies is a row of the left operand, packed q and the weights p are rows of units of the right
// one. Only V differs: its keys go along the rows, so it is packed transposed.
//
//   scores   32 keys x 32 queries in four tiles: per 32 dimensions 2 loads of K, 2 of q, 4 products
//   gather   32 dimensions x 32 queries: per 32 keys 2 loads of V, 2 of p, 4 products; o is the tiles' start, scaled before
//
// A product takes 16 cycles, a load 8 on two ports: the unit binds, with 8*D/32 products for 32 x 32 scores, so 128 cycles each for both
// at D = 64, 4 cycles for a vector of 16 scores in all. The softmax of such a vector takes some 6 (attention_dot.h) and
// its maximum 1, in loops of their own: at D = 64 it is 0.36 of the unit, at D = 128 0.53.
//
// Tiles are stored to the scores' buffer, from which the maximum is taken. Keys past the last are read from a copy that repeats it
// (in place the tile would reach past K); weights past it are zero.
// Source: Intel 64 and IA-32 SDM; tiles: ridge_amx.h.
#ifndef RIDGE_ATTENTION_AMX_H
#define RIDGE_ATTENTION_AMX_H

// TILE: units of a tile, 16 rows of 16.
enum { TILE = 256, MOST_D = 256 };
_Static_assert(ATT_MR == 32 && ATT_NV == 2 && RIDGE_VL == 16 && ATT_KEYS % 32 == 0, "two tiles each way");

#define ATT_SOFT
#if defined(RIDGE_MODEL)
#define RIDGE_AMX_MODEL
#endif
#include "../include/ridge_amx.h"
#define ATT_BEGIN TILE_BEGIN
#define ATT_END TILE_END

#if defined(RIDGE_MODEL)
#define TILE_DOT(d, x, y) ridge_tile_dot_bf16(tiles[d], tiles[x], tiles[y], 16)
#else
#define TILE_DOT(d, x, y) __asm__ volatile("tdpbf16ps %%tmm" #y ", %%tmm" #x ", %%tmm" #d ::)
#endif

// A step's loads (la of keys, lb of queries) and four products: tiles 0 to 3 are rows 0 and 16 by queries 0 and 16. Queries have one register in turn, for
// registers are renamed from few (native/conv/conv_amx_tile.h).
#define TILE_STEP(nv, la, lb)        \
  do {                               \
    la(4, 0);                        \
    lb(6, 0);                        \
    TILE_DOT(0, 4, 6);               \
    la(5, 1);                        \
    TILE_DOT(2, 5, 6);               \
    if (nv == 2) {                   \
      lb(6, 1);                      \
      TILE_DOT(3, 5, 6);             \
      TILE_DOT(1, 4, 6);             \
    }                                \
  } while (0)
// Of keys at a, rows lda apart, and queries at q, from dimension d on.
#define TILE_K(t, i) TILE_LOAD(t, a + d + (i) * 16 * lda, lda * 2)
#define TILE_Q(t, i) TILE_LOAD(t, q + d / 2 * w + (i) * 16, w * 4)
#define TILE_EACH(nv, what, at, w)                 \
  do {                                             \
    what(0, at, (w)*4);                            \
    what(2, (at) + 16 * (w), (w)*4);               \
    if (nv == 2) {                                 \
      what(1, (at) + 16, (w)*4);                   \
      what(3, (at) + 16 * (w) + 16, (w)*4);        \
    }                                              \
  } while (0)

// The first step of products, between which the sums of the products before are stored and these begin: four stores behind a step of 8 products take
// 62 to 110 cycles of the tile unit's 128, between the next step's products 9 to 39 (operands in L1 to L2).
#define TILE_SAVE(q, to, w, row, col) \
  if (to) TILE_STORE(q, (to) + (row) * (w) + (col), (w)*4);
#define TILE_FIRST(nv, la, lb, to, w, begin)                 \
  do {                                                       \
    la(4, 0);                                                \
    lb(6, 0);                                                \
    TILE_SAVE(0, to, w, 0, 0)                                \
    begin(0, 0, 0);                                          \
    TILE_DOT(0, 4, 6);                                       \
    la(5, 1);                                                \
    TILE_SAVE(2, to, w, 16, 0)                               \
    begin(2, 16, 0);                                         \
    TILE_DOT(2, 5, 6);                                       \
    if (nv == 2) {                                           \
      lb(6, 1);                                              \
      TILE_SAVE(3, to, w, 16, 16)                            \
      begin(3, 16, 16);                                      \
      TILE_DOT(3, 5, 6);                                     \
      TILE_SAVE(1, to, w, 0, 16)                             \
      begin(1, 0, 16);                                       \
      TILE_DOT(1, 4, 6);                                     \
    }                                                        \
  } while (0)

// Keys j to j + MR - 1 of n in `to`, the last one repeated past the end.
RIDGE_INLINE const key *repeat_last(key *to, const key *k, int64_t ld, int64_t j, int64_t n, int64_t D) {
  for (int64_t r = 0; r < MR; r++) memcpy(to + r * D, k + (j + r < n ? j + r : n - 1) * ld, (size_t)D * sizeof(key));
  return to;
}

// Scores of n keys and the running maximum, neither scaled, as scores_body. D is a multiple of 32, MOST_D at most.
__attribute__((noinline)) RIDGE_VT static void scores(int nv, int64_t D, const key *k, int64_t ld, int64_t n, const operand *q, float *s,
                                                      float *top, const int32_t *seen, int64_t clear) {
  key tail[MR * MOST_D] __attribute__((aligned(64)));
  const int64_t w = nv * VL;
  TILE_STATE
  for (int64_t j = 0; j < n; j += MR) {
    const key *a = k + j * ld;
    int64_t lda = ld;
    if (j + MR > n) a = repeat_last(tail, k, ld, j, n, D), lda = D;
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    for (int64_t d = 0; d < D; d += 32) TILE_STEP(nv, TILE_K, TILE_Q);
    float *at = s + j * w;
    TILE_EACH(nv, TILE_STORE, at, w);
    if (j + MR > clear) {
      hidden_top(nv, j, seen, at, top);
      continue;
    }
    for (int v = 0; v < nv; v++) {
      vf m = *(const vf_any *)(top + v * VL);
      for (int r = 0; r < MR; r++) m = ridge_vmax(m, *(const vf_any *)(at + (r * nv + v) * VL));
      *(vf_any *)(top + v * VL) = m;
    }
  }
}

// Scores and weights in one loop, as soft_scores_body (attention_soft.h): the products of 32 keys are on their way through the tile unit while
// the exponentials of the 32 keys before run on the vector pipes. m, the maximum that weights refer to, is that of all blocks before and
// of this block's first 32 keys; a weight is then 2^ATT_LEAD at most, else the block is done again.
#if !defined(ATT_LEAD)
#define ATT_LEAD 24
#endif
typedef struct soft_work {
  float raw[2][MR * PANEL]; // scores of the last two times 32 keys
} soft_work;

RIDGE_INLINE int soft_takes(int64_t D, int64_t keys) {
  (void)D;
  return keys > 2 * MR;
}

// Weights of 32 keys from their scores, their sums, and the maximum.
RIDGE_INLINE RIDGE_VT void soft_tile(const int nv, const float *score, const vf *m, float scale, operand *p, vf *sums, vf *tops, const key *next,
                                     int64_t ld, int64_t D) {
  const vi ones = (vi){0} + 0x3f803f80;
  const vf most = 126.0f / scale - (vf){0};
  vf sum[NV], top[NV];
  for (int v = 0; v < nv; v++) sum[v] = sums[v], top[v] = tops[v];
  RIDGE_UNROLL(1)
  for (int r = 0; r < MR; r += 2) {
    if (next)
      for (int64_t d = 0; d < D; d += 32) __builtin_prefetch(next + r * ld + d, 0, 3), __builtin_prefetch(next + (r + 1) * ld + d, 0, 3);
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) {
      const vf even = *(const vf_any *)(score + (r * nv + v) * VL), odd = *(const vf_any *)(score + ((r + 1) * nv + v) * VL);
      top[v] = ridge_vmax(top[v], ridge_vmax(even, odd));
      const vi w = weights(exp2_short(m[v] - even, scale, most), exp2_short(m[v] - odd, scale, most));
      ATT_DOT2(sum[v], w, ones);
      *(vi_any *)(p + (r / 2 * nv + v) * VL) = w;
    }
  }
  for (int v = 0; v < nv; v++) sums[v] = sum[v], tops[v] = top[v];
}

RIDGE_INLINE RIDGE_VT int soft_scores_body(const int nv, int64_t D, const key *k, int64_t ld, int64_t n, const operand *q, float *s,
                                           soft_work *work, float *before, float *top, float *total, float *factor, const int32_t *seen,
                                           int64_t clear, float scale) {
  key tail[MR * MOST_D] __attribute__((aligned(64)));
  const int64_t w = nv * VL;
  operand *p = (operand *)s;
  vf m[NV] = {{0}}, sum[NV] = {{0}}, most[NV] = {{0}};
  for (int v = 0; v < nv; v++) most[v] = *(const vf_any *)(top + v * VL);
  float *last = NULL;
  TILE_STATE
#define SOFT_BEGIN(t, row, col) TILE_ZERO(t)
  for (int64_t j = 0;; j += MR) {
    const key *a = k + j * ld;
    int64_t lda = ld;
    if (j < n && j + MR > n) a = repeat_last(tail, k, ld, j, n, D), lda = D;
    if (j < n) {
      int64_t d = 0;
      TILE_FIRST(nv, TILE_K, TILE_Q, last, w, SOFT_BEGIN);
      for (d = 32; d < D; d += 32) TILE_STEP(nv, TILE_K, TILE_Q);
    } else {
      TILE_EACH(nv, TILE_STORE, last, w);
    }
    if (last) { // scores of the keys before
      if (j > clear) hide_tile(nv, j - MR, seen, last);
      if (j == MR)
        for (int v = 0; v < nv; v++) {
          vf first = most[v];
          for (int r = 0; r < MR; r++) first = ridge_vmax(*(const vf_any *)(last + (r * nv + v) * VL), first);
          m[v] = first;
        }
      soft_tile(nv, last, m, scale, p, sum, most, j + 2 * MR <= n ? a + MR * ld : NULL, ld, D);
      p += MR / 2 * w;
    }
    if (j >= n) break;
    last = work->raw[j / MR % 2];
  }
#undef SOFT_BEGIN
  vf lead = (vf){0};
  for (int v = 0; v < nv; v++) {
    *(vf_any *)(top + v * VL) = most[v];
    lead = ridge_vmax((most[v] - m[v]) * scale, lead); // not NaN, of infinite scores
  }
  for (int l = 0; l < VL; l++)
    if (lead[l] > ATT_LEAD) return 0;
  for (int v = 0; v < nv; v++) {
    const vf f = exp2_low(*(const vf_any *)(before + v * VL) - m[v], scale);
    *(vf_any *)(before + v * VL) = m[v];
    *(vf_any *)(factor + v * VL) = f;
    *(vf_any *)(total + v * VL) = *(const vf_any *)(total + v * VL) * f + sum[v];
  }
  return 1;
}

// Rows of units of n keys' weights: a multiple of 16, those past the last key zero.
RIDGE_INLINE int64_t weight_rows(int64_t n) { return (n + 31) / 32 * 16; }

RIDGE_VT static void clear_weights(int nv, int64_t n, float *s) {
  const int64_t used = (n + 1) / 2, w = nv * VL;
  memset(s + used * w, 0, (size_t)((weight_rows(n) - used) * w) * sizeof(float));
}

// Weighted sums of n keys for dim dimensions (a multiple of 32), as gather_body; V is packed, strips of 32 dimensions pitch units apart.
__attribute__((noinline)) RIDGE_VT static void gather(int nv, int64_t dim, int64_t n, const operand *v, int64_t step, int64_t pitch,
                                                      const float *s, const float *factor, float *o) {
  const int64_t w = nv * VL, rows = weight_rows(n);
  const operand *p = (const operand *)s;
  (void)step;
  TILE_STATE
  float *before = NULL;
#define GATHER_V(t, i) TILE_LOAD(t, a + (u / 8 + (i)) * TILE, 64)
#define GATHER_P(t, i) TILE_LOAD(t, p + u * w + (i) * 16, w * 4)
#define GATHER_BEGIN(t, row, col) TILE_LOAD(t, at + (row) * w + (col), w * 4)
  for (int64_t d = 0; d < dim; d += MR) {
    float *at = o + d * w;
    const operand *a = v + d / MR * pitch;
    for (int u = 0; u < nv; u++) {
      const vf f = *(const vf_any *)(factor + u * VL);
      for (int r = 0; r < MR; r++) *(vf_any *)(at + (r * nv + u) * VL) *= f;
    }
    int64_t u = 0;
    TILE_FIRST(nv, GATHER_V, GATHER_P, before, w, GATHER_BEGIN);
    for (u = 16; u < rows; u += 16) TILE_STEP(nv, GATHER_V, GATHER_P);
    before = at;
  }
  TILE_EACH(nv, TILE_STORE, before, w);
#undef GATHER_V
#undef GATHER_P
#undef GATHER_BEGIN
}

// Packs n keys: two tiles of 16 dimensions x 32 keys for each strip of 32 dimensions, keys past the last as 0.
RIDGE_VT static void pack_values(int64_t D, int64_t n, const uint16_t *v, operand *vp) {
  for (int64_t j = 0; j < n; j += 32)
    for (int64_t d = 0; d < D; d += 16) {
      vi r[VL];
      for (int i = 0; i < VL; i++) {
        const int64_t at = j + 2 * i;
        ridge_vu lo = {0}, hi = {0};
        if (at < n) lo = (ridge_vu)ridge_bf16_load(v + at * D + d);
        if (at + 1 < n) hi = (ridge_vu)ridge_bf16_load(v + (at + 1) * D + d);
        r[i] = (vi)(lo >> 16 | hi);
      }
      ridge_transpose(r);
      operand *to = vp + d / MR * (ATT_KEYS * 16 + 16) + j / 32 * 2 * TILE + d % MR * 16;
      for (int l = 0; l < VL; l++) *(vi_any *)(to + l * 16) = r[l];
    }
}

#endif
