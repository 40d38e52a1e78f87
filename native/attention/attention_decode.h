// Attention of few queries over many keys (part of attention_flash_body.h): decoding, where K and
// V are read once and everything else is small.
//
//   s[r][j] = q[r] . k[j];  m, f as in the blocks;  o[r][:] = o[r][:] * f + sum_j p[r][j] * v[j][:]
//
// Lanes are head dimensions: K and V are read where they lie, VL rows at a time, and from L1
// again for each further query (rows: the queries of all heads that share K and V). Nothing is
// packed. The VL rows are a VL-th of a chunk apart: so many streams hide each other's waits at
// the ends of pages, where a hardware prefetcher stops. The keys of all heads form one row of
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
#ifndef RIDGE_ATTENTION_DECODE_H
#define RIDGE_ATTENTION_DECODE_H

// CHUNK: most keys of a chunk. AHEAD: bytes that a stream asks for in advance. STEP: elements of
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
#else
enum { FORMS = 1 };
RIDGE_INLINE RIDGE_VT void load_forms(const et *p, vf x[FORMS]) { x[0] = *(const vf_any *)p; }
#endif
enum { CHUNK = 512, AHEAD = 512, STEP = FORMS * RIDGE_VL };

// Element d of a row of forms.
RIDGE_INLINE int64_t form_at(int64_t d) { return d / STEP * STEP + d % FORMS * VL + d % STEP / FORMS; }

RIDGE_INLINE int decodes(const ridge_attention_args *a) {
  return a->H / a->HKV * a->Sq <= ATT_FEW && a->D % STEP == 0 && a->Skv > 0;
}

// One part of a head: queries, sums, maximum and total of each row. Two parts to a thread: the
// end of a head that began with an earlier thread, and what it works on else.
typedef struct part {
  float *q, *o, *top, *total;
} part;

// Keys of a chunk: CHUNK, less where that would leave a thread few chunks.
RIDGE_INLINE int64_t chunk_of(const ridge_attention_args *a, int32_t nthreads) {
  int64_t keys = CHUNK;
  while (keys > 8 * VL && a->B * a->HKV * ceil_div(a->Skv, keys) < 8 * nthreads) keys /= 2;
  return keys;
}

RIDGE_INLINE int64_t part_floats(const ridge_attention_args *a) {
  return ceil_div(a->H / a->HKV * a->Sq * (2 * a->D + 2), 16) * 16;
}

RIDGE_INLINE part part_of(const ridge_attention_args *a, const ridge_ctx *ctx, int64_t tid, int which) {
  int64_t rows = a->H / a->HKV * a->Sq;
  float *q = (float *)ctx->workspace + (2 * tid + which) * part_floats(a);
  return (part){q, q + rows * a->D, q + 2 * rows * a->D, q + 2 * rows * a->D + rows};
}

// Keys are taken VL at a time, span apart: VL streams of consecutive rows each.
RIDGE_INLINE RIDGE_VT void row_pointers(const et *base, int64_t D, int64_t i, int64_t span, int64_t n, const et *row[VL]) {
  RIDGE_UNROLL_ALL
  for (int l = 0; l < VL; l++) row[l] = base + att_min(l * span + i, n - 1) * D;
}

// Asks, once a cache line and only for the first query, for what the streams need next.
RIDGE_INLINE void fetch(const et *const row[VL], int64_t d, int64_t r) {
  if (r != 0 || d * sizeof(et) % RIDGE_CACHE_LINE >= STEP * sizeof(et)) return;
  RIDGE_UNROLL_ALL
  for (int l = 0; l < VL; l++) __builtin_prefetch((const char *)(row[l] + d) + AHEAD);
}

RIDGE_INLINE RIDGE_VT float sum_lanes(vf x) {
  float s = 0;
  for (int l = 0; l < VL; l++) s += x[l];
  return s;
}

// Scores of n keys: s[r][i*VL + l] is that of key l*span + i; past the last key, the last again.
RIDGE_VT static void decode_scores(int64_t D, int64_t rows, int64_t n, const et *k, const float *q, float *s) {
  int64_t span = ceil_div(n, VL);
  for (int64_t i = 0; i < span; i++) {
    const et *row[VL];
    row_pointers(k, D, i, span, n, row);
    for (int64_t r = 0; r < rows; r++) {
      vi acc[VL];
      RIDGE_UNROLL_ALL
      for (int l = 0; l < VL; l++) acc[l] = (vi){0};
      for (int64_t d = 0; d < D; d += STEP) {
        vf qv[FORMS];
        RIDGE_UNROLL_ALL
        for (int e = 0; e < FORMS; e++) qv[e] = *(const vf_any *)(q + r * D + d + e * VL);
        fetch(row, d, r);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) {
          vf x[FORMS];
          load_forms(row[l] + d, x);
          RIDGE_UNROLL_ALL
          for (int e = 0; e < FORMS; e++) acc[l] = (vi)((vf)acc[l] + x[e] * qv[e]);
        }
      }
      ridge_transpose(acc);
      vf sum = (vf)acc[0];
      RIDGE_UNROLL_ALL
      for (int l = 1; l < VL; l++) sum += (vf)acc[l];
      *(vf_any *)(s + r * CHUNK + i * VL) = sum;
    }
  }
}

// What fewer than VL rows of V add to o, s holding their weights. A row past the last, whose weight is 0, must not be read as the last one
// again: an infinite element of that is 0 * infinity.
__attribute__((noinline)) RIDGE_VT static void decode_gather_some(int64_t D, int64_t rows, int64_t keys, const et *const row[VL], const float *s,
                                                                  float *o) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t l = 0; l < keys; l++)
      for (int64_t d = 0; d < D; d += STEP) {
        vf x[FORMS];
        load_forms(row[l] + d, x);
        for (int e = 0; e < FORMS; e++) *(vf_any *)(o + r * D + d + e * VL) += x[e] * s[r * CHUNK + l];
      }
}

// o[r] += sum over n keys of weight * v[key], weights in the order of decode_scores.
RIDGE_VT static void decode_gather(int64_t D, int64_t rows, int64_t n, const et *v, const float *s, float *o) {
  int64_t span = ceil_div(n, VL);
  for (int64_t i = 0; i < span; i++) {
    const et *row[VL];
    row_pointers(v, D, i, span, n, row);
    if ((VL - 1) * span + i >= n) {
      decode_gather_some(D, rows, ceil_div(n - i, span), row, s + i * VL, o);
      continue;
    }
    for (int64_t r = 0; r < rows; r++) {
      vf p[VL];
      RIDGE_UNROLL_ALL
      for (int l = 0; l < VL; l++) p[l] = s[r * CHUNK + i * VL + l] - (vf){0};
      for (int64_t d = 0; d < D; d += STEP) {
        vf acc[FORMS];
        RIDGE_UNROLL_ALL
        for (int e = 0; e < FORMS; e++) acc[e] = *(const vf_any *)(o + r * D + d + e * VL);
        fetch(row, d, r);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) {
          vf x[FORMS];
          load_forms(row[l] + d, x);
          RIDGE_UNROLL_ALL
          for (int e = 0; e < FORMS; e++) acc[e] += x[e] * p[l];
        }
        RIDGE_UNROLL_ALL
        for (int e = 0; e < FORMS; e++) *(vf_any *)(o + r * D + d + e * VL) = acc[e];
      }
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
  int64_t span = ceil_div(n, VL), width = span * VL;
  if (sees < width)
    for (int64_t j = 0; j < width; j++) s[j] = j % VL * span + j / VL < sees ? s[j] : HIDDEN;
  vf m = *top - (vf){0}, sum = (vf){0};
  for (int64_t j = 0; j < width; j += VL) m = ridge_vmax(m, *(const vf_any *)(s + j));
  float t = m[0];
  for (int l = 1; l < VL; l++) t = m[l] > t ? m[l] : t;
  m = t - (vf){0};
  if (t != *top) {
    vf f = exp2_low(*top - m, 1);
    for (int64_t d = 0; d < D; d += VL) *(vf_any *)(o + d) *= f;
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

RIDGE_VT static void decode_finish(const ridge_attention_args *a, int64_t head, const part *p) {
  int64_t rows = a->H / a->HKV * a->Sq;
  for (int64_t r = 0; r < rows; r++) {
    const int sees = ridge_attention_visible(a, r % a->Sq) > 0;
    const float inverse = 1 / p->total[r];
    et *o = (et *)a->o + (head * rows + r) * a->D;
    for (int64_t d = 0; d < a->D; d++) store_one(o + d, sees ? p->o[r * a->D + form_at(d)] * inverse : 0);
  }
}

// Adds another part of the same head.
RIDGE_VT static void decode_join(const ridge_attention_args *a, const part *to, const part *from) {
  for (int64_t r = 0; r < a->H / a->HKV * a->Sq; r++) {
    float m = to->top[r] > from->top[r] ? to->top[r] : from->top[r];
    vf f = exp2_low(to->top[r] - m - (vf){0}, 1), g = exp2_low(from->top[r] - m - (vf){0}, 1);
    to->top[r] = m, to->total[r] = to->total[r] * f[0] + from->total[r] * g[0];
    for (int64_t d = r * a->D; d < (r + 1) * a->D; d += VL)
      *(vf_any *)(to->o + d) = *(const vf_any *)(to->o + d) * f + *(const vf_any *)(from->o + d) * g;
  }
}

RIDGE_VT static void decode(const ridge_attention_args *a, const ridge_ctx *ctx, float *s) {
  int64_t D = a->D, rows = a->H / a->HKV * a->Sq, keys = chunk_of(a, ctx->nthreads), chunks = ceil_div(a->Skv, keys);
  int64_t all = a->B * a->HKV * chunks, from, to;
  float c = (float)(a->scale * LOG2E);
  ridge_share(all, 1, ctx->tid, ctx->nthreads, &from, &to);
  part p = {0};
  for (int64_t u = from; u < to; u++) {
    int64_t head = u / chunks, j0 = u % chunks * keys, n = att_min(a->Skv - j0, keys), at = (head * a->Skv + j0) * D;
    if (u == from || j0 == 0) {
      p = part_of(a, ctx, ctx->tid, j0 == 0);
      for (int64_t i = 0; i < rows * D; i++)
        p.q[i / D * D + form_at(i % D)] = load_one((const et *)a->q + head * rows * D + i) * c, p.o[i] = 0;
      for (int64_t r = 0; r < rows; r++) p.top[r] = BEFORE, p.total[r] = 0;
    }
#if defined(ATT_DOT)
    const int dots = rows > 1;
    if (dots) decode_scores_dot(D, rows, n, (const et *)a->k + at, (const et *)a->q + head * rows * D, c, s);
    else
#else
    const int dots = 0;
#endif
      decode_scores(D, rows, n, (const et *)a->k + at, p.q, s);
    for (int64_t r = 0; r < rows; r++) {
      int64_t sees = att_min(ridge_attention_visible(a, r % a->Sq) - j0, n);
      decode_soften(D, dots, sees, n, s + r * CHUNK, p.o + r * D, p.top + r, p.total + r);
    }
#if defined(ATT_DOT)
    if (dots) decode_gather_dot(D, rows, n, (const et *)a->v + at, s, p.o);
    else
#endif
      decode_gather(D, rows, n, (const et *)a->v + at, s, p.o);
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
