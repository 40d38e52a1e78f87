// softmax_v by rows (part of attention_flash_body.h, but for dot products): where a row of scores is short, nothing is turned.
//
//   for rows of scores by ROWS: their maxima; for keys by ROWS_KEYS: p[i][j] = 2^((x[i][j] - top[i])*log2(e)), in L1, and its sums;
//     o[i][d] += p[i][j] * v[j][d] by tiles of 6 rows; in the last block of keys times the inverse of the row's total
//
// The blocks of attention have queries as lanes: for softmax_v they turn the scores (64 shuffles for 256 of them on AVX-512, all on one port) and the output.
// Here an element of p is the broadcast and a row of V the vectors: per key and tile of 6 rows by four vectors 24 multiply-adds (12 cycles at two a cycle), 4 loads and 6 broadcasts; AVX2, two
// vectors, 12, 2 and 6. A block of V (32 KiB at D = 64) serves 24 rows. Scores are read twice, the second time from L2, which a row's length bounds.
// Of bf16, up to 128 keys, V is widened for 48 rows and sums are rounded once all are there: 8 x 32 x 64 1.31 to 1.38, 128 x 64 1.06 to 1.09, 8 x 64 x 32 1.05, AVX2 8 x 32 x 64 1.32; by more keys
// 1.00 (4 x 256 x 64, 8 x 512 x 64) and less (4 x 256 x 96 0.94), 24 rows at a time 0.95 of that.
//
// Ice Lake, one thread, of the blocks' rate: 8 x 32 x 64 1.24, 128 x 64 1.11, 4 x 256 x 64 1.26, 8 x 512 x 64 1.19, 4 x 1024 x 64 1.12, 2 x 2048 x 64 1.03; AVX2 there 1.16, -, 1.07, 1.08, -, 0.94.
#ifndef RIDGE_ATTENTION_ROWS_H
#define RIDGE_ATTENTION_ROWS_H

#if !defined(ATT_DOT)
enum { ROWS = WIDEN ? 48 : 24, ROWS_KEYS = 128, ROWS_PITCH = ROWS_KEYS + VL, ROWS_LONGEST = WIDEN ? ROWS_KEYS : 1024, ROWS_HIGH = 6, ROWS_NV = VL == 8 ? 2 : 4, ROWS_DIM = 256 };

RIDGE_INLINE int by_rows(const attention_args *full) {
  const ridge_attention_args *a = &full->of;
  return full->scores && !full->weights && a->D % (2 * VL) == 0 && (!WIDEN || a->D <= ROWS_DIM) && a->Skv > 0 && a->Skv <= ROWS_LONGEST;
}

// o[r x nv vectors] (+)= p[r x n] * v[n x nv vectors], rows of v ldv and of o ldo apart; inverse, if any, of each row's total.
RIDGE_INLINE RIDGE_VT void rows_tile(const int r, const int nv, int64_t n, const float *p, const float *v, int64_t ldv, float *o, int64_t ldo, int add, const float *inverse) {
  vf acc[ROWS_HIGH][ROWS_NV];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < r; i++) {
    RIDGE_UNROLL_ALL
    for (int u = 0; u < nv; u++) acc[i][u] = (vf){0};
  }
  RIDGE_UNROLL(4)
  for (int64_t j = 0; j < n; j++, v += ldv) {
    vf b[ROWS_NV];
    RIDGE_UNROLL_ALL
    for (int u = 0; u < nv; u++) b[u] = *(const vf_any *)(v + u * VL);
    RIDGE_UNROLL_ALL
    for (int i = 0; i < r; i++) {
      vf x = p[i * ROWS_PITCH + j] - (vf){0};
      RIDGE_UNROLL_ALL
      for (int u = 0; u < nv; u++) ATT_FMA(acc[i][u], b[u], x);
    }
  }
  RIDGE_UNROLL_ALL
  for (int i = 0; i < r; i++, o += ldo) {
    RIDGE_UNROLL_ALL
    for (int u = 0; u < nv; u++) {
      vf s = acc[i][u];
      if (add) s += *(const vf_any *)(o + u * VL);
      if (inverse) s *= inverse[i];
      *(vf_any *)(o + u * VL) = s;
    }
  }
}

typedef void (*rows_fn)(int64_t n, const float *p, const float *v, int64_t ldv, float *o, int64_t ldo, int add, const float *inverse);
#if defined(RIDGE_MODEL) // the logic, not an unrolled instance of each size
#define ATT_ROWS_CALL(r, nv, ...) rows_tile(r, nv, __VA_ARGS__)
#else
#define ATT_ROWS_TILE(nv, r)                                                                                                                      \
  __attribute__((noinline)) RIDGE_VT static void rows_##nv##_##r(int64_t n, const float *p, const float *v, int64_t ldv, float *o, int64_t ldo, int add,        \
                                                                 const float *inverse) {                                                          \
    rows_tile(r, nv, n, p, v, ldv, o, ldo, add, inverse);                                                                                             \
  }
#define ATT_ROWS_TILES(nv) ATT_ROWS_TILE(nv, 1) ATT_ROWS_TILE(nv, 2) ATT_ROWS_TILE(nv, 3) ATT_ROWS_TILE(nv, 4) ATT_ROWS_TILE(nv, 5) ATT_ROWS_TILE(nv, 6)
#define ATT_ROWS_ENTRIES(nv) {rows_##nv##_1, rows_##nv##_2, rows_##nv##_3, rows_##nv##_4, rows_##nv##_5, rows_##nv##_6}
ATT_ROWS_TILES(2)
#if RIDGE_VL == 8
static const rows_fn rows_tiles[1][ROWS_HIGH] = {ATT_ROWS_ENTRIES(2)};
#else
ATT_ROWS_TILES(4)
static const rows_fn rows_tiles[2][ROWS_HIGH] = {ATT_ROWS_ENTRIES(2), ATT_ROWS_ENTRIES(4)};
#endif
#define ATT_ROWS_CALL(r, nv, ...) rows_tiles[nv / 2 - 1][r - 1](__VA_ARGS__)
#endif

// to[i] = the larger, or the sum, of the lanes of by[i], for `rows` rows.
RIDGE_VT static void rows_lanes(const vf *by, int64_t rows, int sum, float *to) {
  for (int64_t i = 0; i < rows; i += VL) {
    vi r[VL];
    RIDGE_UNROLL_ALL
    for (int l = 0; l < VL; l++) r[l] = (vi)by[i + l];
    ridge_transpose(r);
    vf all = (vf)r[0];
    RIDGE_UNROLL_ALL
    for (int l = 1; l < VL; l++) all = sum ? all + (vf)r[l] : ridge_vmax(all, (vf)r[l]);
    *(vf_any *)(to + i) = all;
  }
}

// The vector of a row's elements from j on: those past the last, n, are `past`.
RIDGE_INLINE RIDGE_VT vf row_vector(const et *x, int64_t j, int64_t n, float past) {
  if (j + VL <= n) return load_vector(x + j);
  float t[VL];
  for (int l = 0; l < VL; l++) t[l] = j + l < n ? load_one(x + j + l) : past;
  return *(const vf_any *)t;
}

// m rows (ROWS at most) of one head, x and o at the first of them.
RIDGE_VT static void rows_block(const ridge_attention_args *a, const et *x, const et *v, et *o, int64_t m) {
  enum { HELD = (ROWS + VL - 1) / VL * VL };
  const int64_t D = a->D, S = a->Skv;
  float p[ROWS * ROWS_PITCH] __attribute__((aligned(RIDGE_CACHE_LINE))), top[HELD], inverse[HELD];
  vf by[HELD], sums[HELD];
#if defined(ATT_BF16)
  float wide[ROWS_KEYS * ROWS_NV * VL] __attribute__((aligned(RIDGE_CACHE_LINE))), wait[ROWS * ROWS_DIM];
#endif
  for (int64_t i = 0; i < HELD; i++) by[i] = (vf){0} + BEFORE, sums[i] = (vf){0};
  for (int64_t i = 0; i < m; i++) {
    vf most[2] = {by[i], by[i]};
    int64_t j = 0;
    for (; j + 2 * VL <= S; j += 2 * VL)
      RIDGE_UNROLL_ALL
      for (int u = 0; u < 2; u++) most[u] = ridge_vmax(most[u], load_vector(x + i * S + j + u * VL));
    for (; j < S; j += VL) most[0] = ridge_vmax(most[0], row_vector(x + i * S, j, S, BEFORE));
    by[i] = ridge_vmax(most[0], most[1]);
  }
  rows_lanes(by, m, 0, top);
  for (int64_t j0 = 0; j0 < S; j0 += ROWS_KEYS) {
    const int64_t n = att_min(ROWS_KEYS, S - j0);
    const int last = j0 + n >= S;
    for (int64_t i = 0; i < m; i++) {
      const et *row = x + i * S + j0;
      RIDGE_UNROLL(2)
      for (int64_t j = 0; j < n; j += VL) {
        vf e = exp2_low(row_vector(row, j, n, HIDDEN) - top[i], (float)LOG2E);
        sums[i] += e;
        *(vf_any *)(p + i * ROWS_PITCH + j) = e;
      }
    }
    if (last) {
      rows_lanes(sums, m, 1, inverse);
      for (int64_t i = 0; i < m; i++) inverse[i] = 1 / inverse[i];
    }
    const int64_t tiles = ceil_div(m, ROWS_HIGH), high = m / tiles, more = m % tiles;
    for (int64_t d = 0, nv; d < D; d += nv * VL) {
      nv = ROWS_NV == 4 && D - d >= 4 * VL ? 4 : 2;
#if defined(ATT_BF16)
      const int64_t ldv = nv * VL;
      for (int64_t j = 0; j < n; j++)
        for (int64_t u = 0; u < ldv; u += VL) *(vf_any *)(wide + j * ldv + u) = load_vector(v + (j0 + j) * D + d + u);
      const float *from = wide;
      float *to = wait + d;
#else
      const int64_t ldv = D;
      const float *from = v + j0 * D + d;
      float *to = o + d;
#endif
      for (int64_t t = 0, i = 0; t < tiles; t++) {
        const int64_t r = high + (t < more);
        ATT_ROWS_CALL((int)r, (int)nv, n, p + i * ROWS_PITCH, from, ldv, to + i * D, D, j0 > 0, last ? inverse + i : NULL);
        i += r;
      }
    }
  }
#if defined(ATT_BF16)
  for (int64_t d = 0; d < m * D; d += VL) store_vector(o + d, *(const vf_any *)(wait + d));
#endif
}

RIDGE_VT static void run_rows(const attention_args *full, const ridge_ctx *ctx) {
  const ridge_attention_args *a = &full->of;
  int64_t from, to;
  ridge_share(a->B * a->Sq, ROWS_HIGH, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t r = from, m; r < to; r += m) {
    const int64_t g = r / a->Sq, end = att_min((g + 1) * a->Sq, to), blocks = ceil_div(end - r, ROWS);
    m = ceil_div(end - r, blocks);
    rows_block(a, (const et *)full->scores + r * a->Skv, (const et *)a->v + g * a->Skv * a->D, (et *)a->o + r * a->D, m);
  }
}
#else
RIDGE_INLINE int by_rows(const attention_args *full) { return (void)full, 0; }
RIDGE_INLINE void run_rows(const attention_args *full, const ridge_ctx *ctx) { (void)full, (void)ctx; }
#endif

#endif
