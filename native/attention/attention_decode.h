// Attention of few queries over many keys (part of attention_flash_body.h): decoding, where K and
// V are read once and everything else is small.
//
//   s[r][j] = q[r] . k[j];  m, f as in the blocks;  o[r][:] = o[r][:] * f + sum_j p[r][j] * v[j][:]
//
// Lanes are head dimensions: K and V are read where they lie, VL rows at a time, and from L1
// again for each four further queries (rows: the queries of all heads that share K and V). Nothing is
// packed. A tile of scores is VL sums, of 1, 2 or 4 queries with as many keys, whose lanes are added by a tree
// of VL-1 additions; a tile of the output 1, 2 or 4 queries by 2 to 8 vectors of dimensions. The VL rows are a VL-th of a
// chunk apart: so many streams hide each other's waits at the ends of pages, where a hardware prefetcher stops; and an odd
// number of rows, or all of them would lie in one set of L1. Dimensions that fill no step are read with some of
// what lies before them, which the scores mask. The keys of all heads form one row of
// chunks that the threads divide evenly, so a head may be shared; its parts meet after a
// barrier by m and l.
//
// Bytes: K and V once. FLOP 4D for each query and key: with up to ATT_FEW queries the two
// multiply-adds for each element and query take less time than DRAM needs to deliver it.
// Limit: the memory level that K and V live in.
// Source: Dao et al. 2023 (Flash-Decoding) for the division of the keys.
// Versions (32 heads, 4096 keys, d = 128, Zen 3, one thread, of a plain read of K and V): the rows of a
// group next to each other 0.49, with prefetch row by row 0.57, in the order of memory 0.75; one row
// after the other with prefetch 0.79; rows a VL-th of a chunk apart with prefetch 1 KiB ahead 0.89,
// 512 bytes ahead 1.10, 2 KiB 0.96.
// Emerald Rapids, one thread, times as fast as the version before: tiles of several queries, a tree in place of a transposition and chunks of an
// odd number of rows 1.4 to 1.7 from L2 with one query, 2.1 with eight; asking ahead from FAR on only 1.2 from L2; any D, which
// went to the blocks where it was no multiple of a step: 3 to 7.
// Since then: rows of a head after the first whose steps begin before the operands (one or two keys, fewer dimensions than a step) are copied too.
#ifndef RIDGE_ATTENTION_DECODE_H
#define RIDGE_ATTENTION_DECODE_H

// CHUNK: most keys of a chunk. AHEAD: bytes that a stream asks for in advance, where a thread reads more than FAR. STEP: elements of
// one load; FORMS: fp32 vectors in it.
#if defined(ATT_BF16)
enum { FORMS = 2 };
// Pairs of elements, which lie where elements may.
typedef uint32_t pairs __attribute__((vector_size(RIDGE_VL * 4), aligned(2), may_alias));
// Even and odd elements: bf16 is the upper half of fp32.
RIDGE_INLINE RIDGE_VT void load_forms(const et *p, vf x[FORMS]) {
  ridge_vu u = *(const pairs *)p;
  x[0] = (vf)(u << 16), x[1] = (vf)(u & 0xffff0000u);
}
RIDGE_INLINE RIDGE_VT ridge_vu round_half(vf x) {
  const ridge_vu u = (ridge_vu)x, nan = (ridge_vu)((u & 0x7fffffffu) > 0x7f800000u);
  return ((u + 0x7fff + (u >> 16 & 1)) & ~nan) | ((u | 0x400000) & nan);
}
RIDGE_INLINE RIDGE_VT void store_forms(et *p, const vf x[FORMS]) {
  *(pairs *)p = round_half(x[0]) >> 16 | (round_half(x[1]) & 0xffff0000u);
}
#else
enum { FORMS = 1 };
RIDGE_INLINE RIDGE_VT void load_forms(const et *p, vf x[FORMS]) { x[0] = *(const vf_any *)p; }
RIDGE_INLINE RIDGE_VT void store_forms(et *p, const vf x[FORMS]) { *(vf_any *)p = x[0]; }
#endif
enum { CHUNK = VL * 31, AHEAD = 512, FAR = 4 << 20, STEP = FORMS * RIDGE_VL };

// A row of K, V, q or o is whole steps; the last one, where D is no multiple of STEP, begins with elements of the one before (repeated). Rows of
// forms, q and the sums, have it at a place of its own: steps * STEP floats.
RIDGE_INLINE int64_t form_floats(int64_t D) { return (D + STEP - 1) / STEP * STEP; }
RIDGE_INLINE int64_t step_at(int64_t D, int64_t d) { return att_min(d, D - STEP); }

// Elements of the last step that are not repeated: all bits of a lane or none.
RIDGE_INLINE RIDGE_VT void keep_new(int64_t D, vi keep[FORMS]) {
  const int64_t repeated = form_floats(D) - D;
  for (int e = 0; e < FORMS; e++) {
    int32_t lanes[VL];
    for (int l = 0; l < VL; l++) lanes[l] = l * FORMS + e >= repeated ? -1 : 0;
    keep[e] = *(const vi_any *)lanes;
  }
}

// Whether the blocks would take longer, in multiply-adds of vectors for a key: they fill vectors of queries, 16 at least or few sums wait for
// each other, with D each (where they widen, packing takes besides what 4 queries do); here a query takes its steps and what adding lanes takes.
RIDGE_INLINE int few_rows(const ridge_attention_args *a) {
  const int64_t rows = a->H / a->HKV * a->Sq;
#if defined(ATT_DOT)
  return rows <= ATT_FEW && 2 * a->D >= STEP;
#else
  const int64_t lanes = (rows < 16 ? 16 : ceil_div(rows, VL) * VL) + (WIDEN ? 4 : 0);
  return rows <= ATT_FEW && rows * (form_floats(a->D) + 20) <= lanes * a->D;
#endif
}
RIDGE_INLINE int decodes(const ridge_attention_args *a) { return few_rows(a) && a->D > 0 && a->Skv > 0; }

// One part of a head: queries, sums, maximum and total of each row. Two parts to a thread: the
// end of a head that began with an earlier thread, and what it works on else.
typedef struct part {
  float *q, *o, *top, *total;
} part;

// Keys of a chunk: CHUNK at most, less where that would leave one of several threads few chunks. Streams of an odd number of rows
// apart lie in different sets of L1.
RIDGE_INLINE int64_t chunk_of(const ridge_attention_args *a, int32_t nthreads) {
  int64_t chunks = ceil_div(a->Skv, CHUNK), heads = a->B * a->HKV;
  while (nthreads > 1 && heads * chunks < 8 * nthreads && ceil_div(a->Skv, 2 * chunks) >= 4 * VL) chunks *= 2;
  return (ceil_div(a->Skv, chunks * VL) | 1) * VL;
}

RIDGE_INLINE int64_t part_floats(const ridge_attention_args *a) {
  return ceil_div(a->H / a->HKV * a->Sq * (2 * form_floats(a->D) + 2), 16) * 16;
}

RIDGE_INLINE part part_of(const ridge_attention_args *a, const ridge_ctx *ctx, int64_t tid, int which) {
  int64_t rows = a->H / a->HKV * a->Sq, width = form_floats(a->D);
  float *q = (float *)ctx->workspace + (2 * tid + which) * part_floats(a);
  return (part){q, q + rows * width, q + 2 * rows * width, q + 2 * rows * width + rows};
}

// Rows of K or V that are taken together: count of them, stride elements apart. Of n keys VL streams of consecutive rows
// give one each, and what is left of n by VL comes last.
typedef struct group {
  const et *first;
  int64_t stride, count;
} group;

RIDGE_INLINE group group_of(const et *first, int64_t D, int64_t n, int64_t i) {
  int64_t span = n / VL;
  if (i < span) return (group){first + i * D, span * D, VL};
  return (group){first + i * VL * D, D, n % VL};
}

// The key of score j.
RIDGE_INLINE int64_t key_at(int64_t n, int64_t j) {
  int64_t span = n / VL;
  return j < span * VL ? j % VL * span + j / VL : j;
}

RIDGE_INLINE RIDGE_VT void load_step(const et *p, const vi *keep, vf x[FORMS]) {
  load_forms(p, x);
  RIDGE_UNROLL_ALL
  for (int e = 0; keep && e < FORMS; e++) x[e] = (vf)((vi)x[e] & keep[e]);
}

// Whether the line at element d is to be asked for, once a cache line.
RIDGE_INLINE int begins_line(int64_t d) { return d * (int64_t)sizeof(et) % RIDGE_CACHE_LINE < STEP * (int64_t)sizeof(et); }

RIDGE_INLINE RIDGE_VT float sum_lanes(vf x) {
  float s = 0;
  for (int l = 0; l < VL; l++) s += x[l];
  return s;
}

// Lane l: the sum of acc[l]'s lanes, by halves: of quarters of 4 lanes first, which no instruction has to cross.
#define ATT_LIST(...) __VA_ARGS__
#define ATT_QUARTER(i) (i), (i) + 1, (i) + 2, (i) + 3
#define ATT_UNPACK(i) (i), (i) + VL, (i) + 1, (i) + VL + 1
#define ATT_PAIR(i) (i), (i) + 1, (i) + VL, (i) + VL + 1
#if RIDGE_VL == 4
#define ATT_EACH(quarter, i) quarter(i)
#elif RIDGE_VL == 8
#define ATT_EACH(quarter, i) quarter(i), quarter((i) + 4)
#else
#define ATT_EACH(quarter, i) quarter(i), quarter((i) + 4), quarter((i) + 8), quarter((i) + 12)
#endif
// Spelled out: an inner loop whose bound is the outer's variable is not unrolled, and the sums then live in memory.
#define ATT_HALVES(n, lo, hi)     \
  RIDGE_UNROLL_ALL                \
  for (int i = 0; i < (n); i++)   \
    acc[i] = __builtin_shufflevector(acc[2 * i], acc[2 * i + 1], lo) + __builtin_shufflevector(acc[2 * i], acc[2 * i + 1], hi);
RIDGE_INLINE RIDGE_VT vf fold_lanes(vf acc[VL]) {
  ATT_HALVES(VL / 2, ATT_EACH(ATT_UNPACK, 0), ATT_EACH(ATT_UNPACK, 2))
  ATT_HALVES(VL / 4, ATT_EACH(ATT_PAIR, 0), ATT_EACH(ATT_PAIR, 2))
#define Q ATT_QUARTER
#if RIDGE_VL == 8
  ATT_HALVES(1, ATT_LIST(Q(0), Q(8)), ATT_LIST(Q(4), Q(12)))
#elif RIDGE_VL == 16
  ATT_HALVES(2, ATT_LIST(Q(0), Q(4), Q(16), Q(20)), ATT_LIST(Q(8), Q(12), Q(24), Q(28)))
  ATT_HALVES(1, ATT_LIST(Q(0), Q(8), Q(16), Q(24)), ATT_LIST(Q(4), Q(12), Q(20), Q(28)))
#endif
#undef Q
  return acc[0];
}

// What a step of kt keys adds to their sums with qt queries, the fewer of which stay in registers. keep: of the last step, else NULL.
RIDGE_INLINE RIDGE_VT void score_step(const int qt, const int kt, const et *const k[VL], const float *const q[VL], int64_t d, int64_t at, const vi *keep,
                                      int ask, vf acc[VL]) {
  if (ask && begins_line(d)) {
    RIDGE_UNROLL_ALL
    for (int y = 0; y < kt; y++) __builtin_prefetch((const char *)(k[y] + d) + AHEAD);
  }
  if (qt < kt) {
    vf x[2 * FORMS];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < qt * FORMS; i++) x[i] = *(const vf_any *)(q[i / FORMS] + at + i % FORMS * VL);
    RIDGE_UNROLL_ALL
    for (int y = 0; y < kt; y++) {
      vf z[FORMS];
      load_step(k[y] + d, keep, z);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < qt * FORMS; i++) acc[i / FORMS * VL / qt + y] += z[i % FORMS] * x[i];
    }
  } else {
    vf x[4][FORMS];
    RIDGE_UNROLL_ALL
    for (int y = 0; y < kt; y++) load_step(k[y] + d, keep, x[y]);
    RIDGE_UNROLL_ALL
    for (int i = 0; i < qt * FORMS; i++) {
      const vf z = *(const vf_any *)(q[i / FORMS] + at + i % FORMS * VL);
      RIDGE_UNROLL_ALL
      for (int y = 0; y < kt; y++) acc[i / FORMS * kt + y] += x[y][i % FORMS] * z;
    }
  }
}

// Scores of VL / qt keys of a group, from l on, and qt queries, of which rows are. Up to 8 keys a pass: addresses of more have no registers.
RIDGE_INLINE RIDGE_VT void score_tile(const int qt, int64_t D, const group *g, int64_t l, const float *q, int64_t rows, const vi keep[FORMS],
                                      int ask, float *s) {
  const int kt = VL / qt, pass = kt > 8 ? 8 : kt;
  const float *qr[VL];
  vf acc[VL];
  RIDGE_UNROLL_ALL
  for (int r = 0; r < qt; r++) qr[r] = q + att_min(r, rows - 1) * form_floats(D);
  RIDGE_UNROLL_ALL
  for (int i = 0; i < VL; i++) acc[i] = (vf){0};
  RIDGE_UNROLL_ALL
  for (int y0 = 0; y0 < kt; y0 += pass) {
    const et *kr[VL];
    RIDGE_UNROLL_ALL
    for (int y = 0; y < pass; y++) kr[y] = g->first + att_min(l + y0 + y, g->count - 1) * g->stride;
    int64_t d = 0;
    for (; d + STEP <= D; d += STEP) score_step(qt, pass, kr, qr, d, d, NULL, ask, acc + y0);
    if (d < D) score_step(qt, pass, kr, qr, D - STEP, d, keep, ask, acc + y0);
  }
  const vf sums = fold_lanes(acc);
  if (qt == 1) {
    *(vf_any *)s = sums;
    return;
  }
  float lanes[VL];
  *(vf_any *)lanes = sums;
  RIDGE_UNROLL_ALL
  for (int r = 0; r < qt; r++) memcpy(s + att_min(r, rows - 1) * CHUNK + l, lanes + r * kt, kt * sizeof(float));
}

// Scores of n keys, s[r][j] that of key key_at(j).
RIDGE_VT static void decode_scores(int64_t D, int64_t rows, int64_t n, const et *k, const float *q, int far, float *s) {
  vi keep[FORMS];
  keep_new(D, keep);
  for (int64_t i = 0; i < ceil_div(n, VL); i++) {
    const group g = group_of(k, D, n, i);
    for (int64_t r = 0, left; (left = rows - r) > 0; r += left > 2 ? 4 : left) {
      const float *from = q + r * form_floats(D);
      float *to = s + r * CHUNK + i * VL;
      const int ask = far && r == 0;
      if (left == 1) score_tile(1, D, &g, 0, from, left, keep, ask, to);
      else if (left == 2)
        RIDGE_UNROLL(1)
        for (int l = 0; l < g.count; l += VL / 2) score_tile(2, D, &g, l, from, left, keep, ask, to);
      else
        RIDGE_UNROLL(1)
        for (int l = 0; l < g.count; l += VL / 4) score_tile(4, D, &g, l, from, left, keep, ask, to);
    }
  }
}

// o[r] += sum over a group of weight * v, w steps from element d on (their sums from at on), qt queries, of which rows are.
RIDGE_INLINE RIDGE_VT void gather_tile(const int qt, const int w, int64_t D, const group *g, int64_t d, int64_t at, int64_t rows, int ask,
                                       const float *s, float *o) {
  vf acc[4][8];
  const float *p[4];
  float *to[4];
  RIDGE_UNROLL_ALL
  for (int r = 0; r < qt; r++) {
    p[r] = s + att_min(r, rows - 1) * CHUNK, to[r] = o + att_min(r, rows - 1) * form_floats(D) + at;
    RIDGE_UNROLL_ALL
    for (int e = 0; e < w * FORMS; e++) acc[r][e] = *(const vf_any *)(to[r] + e * VL);
  }
  const et *v = g->first + d;
  RIDGE_UNROLL(1)
  for (int64_t l = 0; l < g->count; l++, v += g->stride) {
    vf x[8];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < w; i++) {
      load_forms(v + i * STEP, x + i * FORMS);
      if (ask && begins_line(d + i * STEP)) __builtin_prefetch((const char *)(v + i * STEP) + AHEAD);
    }
    RIDGE_UNROLL_ALL
    for (int r = 0; r < qt; r++) {
      const vf y = p[r][l] - (vf){0};
      RIDGE_UNROLL_ALL
      for (int e = 0; e < w * FORMS; e++) acc[r][e] += x[e] * y;
    }
  }
  RIDGE_UNROLL_ALL
  for (int r = 0; r < qt; r++) {
    RIDGE_UNROLL_ALL
    for (int e = 0; e < w * FORMS; e++) *(vf_any *)(to[r] + e * VL) = acc[r][e];
  }
}

RIDGE_INLINE RIDGE_VT void gather_rows(const int qt, int64_t D, const group *g, int64_t rows, int ask, const float *s, float *o) {
  const int w = (qt == 1 ? 8 : VL == 8 && qt == 4 ? 2 : 4) / FORMS; // VL = 8: of 16 registers
  int64_t d = 0;
  for (; d + w * STEP <= D; d += w * STEP) gather_tile(qt, w, D, g, d, d, rows, ask, s, o);
  for (; w > 2 && d + w / 2 * STEP <= D; d += w / 2 * STEP) gather_tile(qt, w / 2, D, g, d, d, rows, ask, s, o);
  for (; w > 4 && d + w / 4 * STEP <= D; d += w / 4 * STEP) gather_tile(qt, w / 4, D, g, d, d, rows, ask, s, o);
  for (; d < D; d += STEP) gather_tile(qt, 1, D, g, step_at(D, d), d, rows, ask, s, o);
}

// o[r] += sum over n keys of weight * v[key], weights in the order of decode_scores.
RIDGE_VT static void decode_gather(int64_t D, int64_t rows, int64_t n, const et *v, const float *s, int far, float *o) {
  for (int64_t i = 0; i < ceil_div(n, VL); i++) {
    const group g = group_of(v, D, n, i);
    for (int64_t r = 0, left; (left = rows - r) > 0; r += left > 2 ? 4 : left) {
      const float *p = s + r * CHUNK + i * VL;
      float *to = o + r * form_floats(D);
      const int ask = far && r == 0;
      if (left == 1) gather_rows(1, D, &g, left, ask, p, to);
      else if (left == 2) gather_rows(2, D, &g, left, ask, p, to);
      else gather_rows(4, D, &g, left, ask, p, to);
    }
  }
}

#if defined(ATT_DOT)
#include "attention_decode_dot.h"
#else
RIDGE_INLINE RIDGE_VT vf round_weights(vf e) { return e; } // never asked for
#endif

// Scores of row r to weights, rounded for dot products; sums so far are scaled where the maximum moved.
RIDGE_VT static void decode_soften(int64_t D, int round, int64_t sees, int64_t n, float *s, float *o, float *top, float *total) {
  const int64_t width = ceil_div(n, VL) * VL;
  if (sees < n)
    for (int64_t j = 0; j < n; j++) s[j] = key_at(n, j) < sees ? s[j] : HIDDEN;
  for (int64_t j = n; j < width; j++) s[j] = HIDDEN;
  vf m = *top - (vf){0}, sum = (vf){0};
  for (int64_t j = 0; j < width; j += VL) m = ridge_vmax(m, *(const vf_any *)(s + j));
  float t = m[0];
  for (int l = 1; l < VL; l++) t = m[l] > t ? m[l] : t;
  m = t - (vf){0};
  if (t != *top) {
    vf f = exp2_low(*top - m, 1);
    for (int64_t d = 0; d < form_floats(D); d += VL) *(vf_any *)(o + d) *= f;
    *total *= f[0], *top = t;
  }
  for (int64_t j = 0; j < width; j += VL) {
    vf e = exp2_low(*(const vf_any *)(s + j) - m, 1);
    if (round) e = round_weights(e);
    sum += e;
    *(vf_any *)(s + j) = e;
  }
  *total += sum_lanes(sum);
}

// Rows of fewer dimensions than a step end where one in memory of its own does, of which their elements are the last.
RIDGE_INLINE et *short_row(int64_t D, et own[STEP]) { return own + STEP - D; }

// Begins a part: scaled queries as forms, without what the last step repeats.
RIDGE_VT static void decode_begin(int64_t D, int64_t rows, const et *q, float c, const part *p) {
  et own[STEP] = {0};
  vi keep[FORMS];
  keep_new(D, keep);
  for (int64_t r = 0; r < rows; r++) {
    p->top[r] = BEFORE, p->total[r] = 0;
    for (int64_t d = 0; d < D; d += STEP) {
      const int64_t at = r * form_floats(D) + d;
      vf x[FORMS];
      const et *row = q + r * D;
      if (D < STEP) row = memcpy(short_row(D, own), row, D * sizeof(et));
      load_forms(row + step_at(D, d), x);
      for (int e = 0; e < FORMS; e++) {
        if (d + STEP > D) x[e] = (vf)((vi)x[e] & keep[e]);
        *(vf_any *)(p->q + at + e * VL) = x[e] * c, *(vf_any *)(p->o + at + e * VL) = (vf){0};
      }
    }
  }
}

RIDGE_VT static void decode_finish(const ridge_attention_args *a, int64_t head, const part *p) {
  const int64_t D = a->D, rows = a->H / a->HKV * a->Sq;
  for (int64_t r = 0; r < rows; r++) {
    const int sees = ridge_attention_visible(a, r % a->Sq) > 0;
    const float inverse = 1 / p->total[r];
    et *o = (et *)a->o + (head * rows + r) * D;
    for (int64_t d = 0; d < D; d += STEP) {
      vf x[FORMS];
      for (int e = 0; e < FORMS; e++) {
        x[e] = *(const vf_any *)(p->o + r * form_floats(D) + d + e * VL) * inverse;
        if (!sees) x[e] = (vf){0};
      }
      et own[STEP];
      store_forms(D < STEP ? own : o + step_at(D, d), x);
      if (D < STEP) memcpy(o, short_row(D, own), D * sizeof(et));
    }
  }
}

// Adds another part of the same head.
RIDGE_VT static void decode_join(const ridge_attention_args *a, const part *to, const part *from) {
  const int64_t width = form_floats(a->D);
  for (int64_t r = 0; r < a->H / a->HKV * a->Sq; r++) {
    float m = to->top[r] > from->top[r] ? to->top[r] : from->top[r];
    vf f = exp2_low(to->top[r] - m - (vf){0}, 1), g = exp2_low(from->top[r] - m - (vf){0}, 1);
    to->top[r] = m, to->total[r] = to->total[r] * f[0] + from->total[r] * g[0];
    for (int64_t d = r * width; d < (r + 1) * width; d += VL)
      *(vf_any *)(to->o + d) = *(const vf_any *)(to->o + d) * f + *(const vf_any *)(from->o + d) * g;
  }
}

// Adds n keys of a head, from j0 on, to a part. k, v: their rows.
RIDGE_VT static void decode_keys(const ridge_attention_args *a, int64_t head, int64_t j0, int64_t n, const et *k, const et *v, int far, const part *p,
                                 float *s) {
  const int64_t D = a->D, rows = a->H / a->HKV * a->Sq;
  (void)head;
#if defined(ATT_DOT)
  const int dots = rows > 1 && D >= STEP;
  if (dots) decode_scores_dot(D, rows, n, k, (const et *)a->q + head * rows * D, (float)(a->scale * LOG2E), far, s);
  else
#else
  const int dots = 0;
#endif
    decode_scores(D, rows, n, k, p->q, far, s);
  for (int64_t r = 0; r < rows; r++) {
    int64_t sees = att_min(ridge_attention_visible(a, r % a->Sq) - j0, n);
    decode_soften(D, dots, sees, n, s + r * CHUNK, p->o + r * form_floats(D), p->top + r, p->total + r);
  }
#if defined(ATT_DOT)
  if (dots) decode_gather_dot(D, rows, n, v, s, far, p->o);
  else
#endif
    decode_gather(D, rows, n, v, s, far, p->o);
}

RIDGE_VT static void decode(const ridge_attention_args *a, const ridge_ctx *ctx, float *s) {
  int64_t D = a->D, rows = a->H / a->HKV * a->Sq, keys = chunk_of(a, ctx->nthreads), chunks = ceil_div(a->Skv, keys);
  int64_t all = a->B * a->HKV * chunks, from, to;
  float c = (float)(a->scale * LOG2E);
  const int far = a->B * a->HKV * a->Skv * D * 2 * (int64_t)sizeof(et) > (int64_t)FAR * ctx->nthreads;
  ridge_share(all, 1, ctx->tid, ctx->nthreads, &from, &to);
  part p = {0};
  for (int64_t u = from; u < to; u++) {
    int64_t head = u / chunks, j0 = u % chunks * keys, n = att_min(a->Skv - j0, keys), at = (head * a->Skv + j0) * D;
    if (u == from || j0 == 0) {
      p = part_of(a, ctx, ctx->tid, j0 == 0);
      decode_begin(D, rows, (const et *)a->q + head * rows * D, c, &p);
    }
    const et *k = (const et *)a->k + at, *v = (const et *)a->v + at;
    const int64_t t = att_min((STEP - 1) / D - at / D, n); // rows whose steps begin before the operands, of the first heads where these have few keys
    if (t > 0) {
      et first[2][2 * STEP] = {{0}};
      memcpy(first[0] + STEP, k, t * D * sizeof(et)), memcpy(first[1] + STEP, v, t * D * sizeof(et));
      decode_keys(a, head, j0, t, first[0] + STEP, first[1] + STEP, 0, &p, s);
      if (n > t) decode_keys(a, head, j0 + t, n - t, k + t * D, v + t * D, far, &p, s);
    } else {
      decode_keys(a, head, j0, n, k, v, far, &p, s);
    }
    if (j0 + n == a->Skv && u - from >= u % chunks) decode_finish(a, head, &p);
  }
  ridge_barrier(ctx);
  // Whoever began a head that it did not end joins the parts of the threads after it.
  int64_t end = to > 0 ? ceil_div(to, chunks) * chunks : 0;
  if (from == to || to == end || end - chunks < from) return;
  for (int64_t t = ctx->tid + 1, lo = to, hi; lo < end && t < ctx->nthreads; t++, lo = hi) {
    ridge_share(all, 1, (int)t, ctx->nthreads, &lo, &hi);
    if (lo == hi) continue;
    part q = part_of(a, ctx, t, 0);
    decode_join(a, &p, &q);
  }
  decode_finish(a, end / chunks - 1, &p);
}

#endif
