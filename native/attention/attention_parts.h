// The parts of attention on its tiles (part of attention_flash_body.h).
//
//   softmax_v   o[i,:] = softmax(x[i,:]) * V      scores are read, once, where the blocks of attention compute them (twice by rows: attention_rows.h)
//   qk_softmax  p[i,:] = softmax(scale*q[i]*K^T)  a panel's scores of all keys stay in the thread's cache until
//                                                 maximum and total are known; p is written once
//   causal_softmax  p[i,j] = softmax of x[i,0..i], 0 for j > i: the step between two products, a row after the other
//
// qk_softmax holds Skv x PANEL scores, 4 bytes each: with 24 queries 393 KB at 4096 keys. Beyond L2 it reads them from L3, 64 bytes
// (twice, and written once) for the 2*D multiply-adds of 16 scores, which binds nowhere.
// Weights that outgrow the caches are stored past them, a line of a row at a time.
// Bytes: what the operands hold, once. Weights below 2^-125 of a row's largest count as 0.
#ifndef RIDGE_ATTENTION_PARTS_H
#define RIDGE_ATTENTION_PARTS_H

// Scores that a turned vector holds of each row.
#if defined(ATT_BF16)
enum { SCORES = 2 * VL };
#else
enum { SCORES = VL };
#endif
typedef int32_t scores_any __attribute__((vector_size(RIDGE_VL * 4), aligned(2), may_alias));

// s[j][w] = x[w][j] of n keys, rows ld apart, and the running maximum; lanes past the last row 0. The rows lie a pitch apart and a block of keys is a few lines of each, which no hardware
// prefetcher follows: what the same rows hold of the next block, `ahead` elements on (0: nothing), is asked for here. bf16 is turned in pairs of
// keys, a line of each row at a time, which halves the shuffles.
RIDGE_VT static void load_scores(int nv, int64_t n, const et *x, int64_t ld, int64_t rows, int64_t ahead, float *s, float *top) {
  const int64_t w = nv * VL;
  for (int64_t i = 0; i < w; i += VL) {
    vf m = *(const vf_any *)(top + i);
    int64_t j = 0;
    if (i + VL <= rows)
      for (; j + SCORES <= n; j += SCORES) {
        vi r[VL];
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) {
          const et *from = x + (i + l) * ld + j;
          r[l] = *(const scores_any *)from;
          if (ahead && (VL == 16 || j * (int64_t)sizeof(et) % RIDGE_CACHE_LINE == 0)) __builtin_prefetch(from + ahead, 0, 2);
        }
        ridge_transpose(r);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) {
#if defined(ATT_BF16)
          const vf even = (vf)(r[l] << 16), odd = (vf)(r[l] & (int32_t)0xffff0000);
          *(vf_any *)(s + (j + 2 * l) * w + i) = even;
          *(vf_any *)(s + (j + 2 * l + 1) * w + i) = odd;
          m = ridge_vmax(m, ridge_vmax(even, odd));
#else
          const vf one = (vf)r[l];
          *(vf_any *)(s + (j + l) * w + i) = one;
          m = ridge_vmax(m, one);
#endif
        }
      }
    for (; j < n; j++) {
      for (int64_t l = i; l < i + VL; l++) s[j * w + l] = l < rows ? load_one(x + l * ld + j) : 0;
      m = ridge_vmax(m, *(const vf_any *)(s + j * w + i));
    }
    *(vf_any *)(top + i) = m;
  }
}

// Scores of n keys to 2^(s - top) and the inverses of their totals.
RIDGE_VT static void spread(int nv, int64_t n, float *s, const float *top, float scale, float *inverse) {
  const int64_t w = nv * VL;
  const float by = SCALED ? 1 : scale;
  for (int64_t i = 0; i < w; i += VL) {
    const vf m = *(const vf_any *)(top + i);
    vf sum = (vf){0};
    RIDGE_UNROLL(2)
    for (int64_t j = 0; j < n; j++) {
      vf_any *at = (vf_any *)(s + j * w + i);
      vf e = exp2_low(*at - m, by);
      sum += e;
      *at = e;
    }
    *(vf_any *)(inverse + i) = 1.0f / sum;
  }
}

// Stores past the caches.
#if defined(__x86_64__) && !defined(RIDGE_MODEL)
enum { STREAMS = 1 };
RIDGE_INLINE RIDGE_VT void stream_line(et *to, const et *from) {
  RIDGE_UNROLL_ALL
  for (int i = 0; i < RIDGE_CACHE_LINE; i += 32)
    _mm256_stream_si256((__m256i *)((char *)to + i), *(const __m256i *)((const char *)from + i));
}
RIDGE_INLINE void stream_end(void) { __asm__ volatile("sfence" ::: "memory"); }
#else
enum { STREAMS = 0 };
RIDGE_INLINE void stream_line(et *to, const et *from) { memcpy(to, from, RIDGE_CACHE_LINE); }
RIDGE_INLINE void stream_end(void) {}
#endif
enum { LINE = RIDGE_CACHE_LINE / sizeof(et) };

// Whether weights of whole lines outgrow the caches.
RIDGE_INLINE int streams(const attention_args *full) {
  const ridge_attention_args *a = &full->of;
  return STREAMS && a->Skv % LINE == 0 && (uintptr_t)full->weights % RIDGE_CACHE_LINE == 0 &&
         a->B * a->Sq > RIDGE_AROUND / (a->Skv * (int64_t)sizeof(et));
}

// unpack_output for whole vectors of rows and lines of n keys, past the caches.
RIDGE_VT static void stream_output(int64_t n, int64_t rows, int64_t w, const float *s, const float *inverse, et *to) {
  et line[VL][LINE] __attribute__((aligned(RIDGE_CACHE_LINE)));
  for (int64_t i = 0; i < rows; i += VL) {
    vf inv = *(const vf_any *)(inverse + i);
    for (int64_t j = 0; j < n; j += LINE) {
      for (int64_t u = 0; u < LINE; u += VL) {
        vi r[VL];
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) r[l] = (vi)(*(const vf_any *)(s + (j + u + l) * w + i) * inv);
        ridge_transpose(r);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) store_vector(line[l] + u, (vf)r[l]);
      }
      for (int l = 0; l < VL; l++) stream_line(to + (i + l) * n + j, line[l]);
    }
  }
}

// Floats of scratch: packed queries, scores, and per query limit, maximum and inverse.
RIDGE_INLINE int64_t weights_floats(const ridge_attention_args *a) {
  return PANEL * a->D + (a->Skv + MR) * PANEL + 3 * PANEL + 16;
}

// Rows r0 .. r0+rows-1 of the weights of one head; k: its keys, as the scores read them.
RIDGE_VT static void weights_task(const ridge_attention_args *a, int stream, const et *q, const key *k, et *to, int64_t r0,
                                  int64_t rows, float *scratch) {
  const int64_t D = a->D, n = a->Skv, vectors = ceil_div(rows, VL);
  operand *qp = (operand *)scratch;
  float *s = scratch + PANEL * D, *top = s + (n + MR) * PANEL, *inverse = top + PANEL;
  int32_t *seen = (int32_t *)(inverse + PANEL);
  const float c = (float)(a->scale * LOG2E);
  for (int64_t i = 0, nv; i < vectors; i += nv) {
    nv = panel_vectors(vectors - i);
    const int64_t at = r0 + i * VL, m = att_min(rows - i * VL, nv * VL);
    pack_queries(D, m, nv * VL, q + at * D, c, qp);
    for (int64_t l = 0; l < nv * VL; l++) top[l] = BEFORE, seen[l] = (int32_t)n;
    scores((int)nv, D, k, D, n, qp, s, top, seen, n);
    spread((int)nv, n, s, top, c, inverse);
    if (stream) stream_output(n, m, nv * VL, s, inverse, to + at * n);
    else unpack_output(n, m, nv * VL, s, inverse, to + at * n);
  }
  if (stream) stream_end();
}

// Floats of a row of exponentials.
RIDGE_INLINE int64_t row_floats(const ridge_attention_args *a) { return apart_floats(a->Skv + VL); }

// A row of e*inverse past the caches, whole lines, with zeros from n on.
RIDGE_VT static void stream_row(int64_t n, int64_t all, float *e, float inverse, et *y) {
  et line[LINE] __attribute__((aligned(RIDGE_CACHE_LINE)));
  int64_t j = 0;
  for (int64_t i = n; i % LINE != 0; i++) e[i] = 0;
  for (; j < n; j += LINE) {
    for (int64_t u = 0; u < LINE; u += VL) store_vector(line + u, *(const vf_any *)(e + j + u) * inverse);
    stream_line(y + j, line);
  }
  memset(line, 0, sizeof line);
  for (; j < all; j += LINE) stream_line(y + j, line);
}

// y[0..n-1] = softmax(x[0..n-1]), y[n..all-1] = 0; e holds the exponentials.
RIDGE_VT static void softmax_row(int64_t n, int64_t all, int stream, const et *x, float *e, et *y) {
  vf m = (vf){0} + BEFORE, sum = (vf){0};
  int64_t j = 0;
  for (; j + VL <= n; j += VL) {
    vf s = load_vector(x + j);
    *(vf_any *)(e + j) = s;
    m = ridge_vmax(m, s);
  }
  if (j < n) {
    for (int l = 0; l < VL; l++) e[j + l] = j + l < n ? load_one(x + j + l) : HIDDEN;
    m = ridge_vmax(m, *(const vf_any *)(e + j));
  }
  float top = m[0], total = 0;
  for (int l = 1; l < VL; l++) top = m[l] > top ? m[l] : top;
  RIDGE_UNROLL(2)
  for (j = 0; j < n; j += VL) {
    vf p = exp2_low(*(const vf_any *)(e + j) - top, (float)LOG2E);
    sum += p;
    *(vf_any *)(e + j) = p;
  }
  for (int l = 0; l < VL; l++) total += sum[l];
  const float inverse = 1 / total;
  if (stream) {
    stream_row(n, all, e, inverse, y);
    return;
  }
  for (j = 0; j + VL <= n; j += VL) store_vector(y + j, *(const vf_any *)(e + j) * inverse);
  for (; j < n; j++) store_one(y + j, e[j] * inverse);
  memset(y + n, 0, (size_t)(all - n) * sizeof(et));
}

// Whole matrices where they can be shared evenly, as the batched products before and after share them (GEMM_BATCH_WHOLE); else rows are
// dealt in turn, eight at a time, for the later ones see more.
RIDGE_VT static void run_softmax(const attention_args *full, const ridge_ctx *ctx) {
  const ridge_attention_args *a = &full->of;
  const int64_t n = a->Skv, rows = a->B * a->Sq;
  const int stream = streams(full);
  float *e = (float *)ctx->workspace + ctx->tid * row_floats(a);
  int64_t from, to, step = 8, next = 8 * ctx->nthreads;
  ridge_share(a->B, 1, ctx->tid, ctx->nthreads, &from, &to);
  from *= a->Sq, to *= a->Sq;
  if (a->B % ctx->nthreads == 0)
    step = next = to - from;
  else
    from = 8 * ctx->tid, to = rows;
  for (int64_t r0 = from; r0 < to; r0 += next)
    for (int64_t r = r0; r < to && r < r0 + step; r++)
      softmax_row(ridge_attention_visible(a, r % a->Sq), n, stream, (const et *)full->scores + r * n, e,
                  (et *)full->weights + r * n);
  if (stream) stream_end();
}

#endif
