// The body of attention_{fp32,bf16}_{avx2,avx512,neon}: attention in blocks
//
//   S = Q[qb, D] * K^T[D, kb];  P = exp(scale*S - m);  l = l*f + rowsum P;  O = O*f + P * V[kb, D]
//
// with m the running row maximum and f = exp(m_old - m_new): the S x S matrix never exists.
// First every thread packs its share of K (transposed) and V into panels of NR columns, once
// per key/value head, whatever the number of query heads; then tasks of (batch, head, block of
// queries) run on their own. A block's scores (QB x KEYS), K and V panels stay in L2, one
// panel and the queries in L1. Causal: blocks and row tiles that no query of a tile sees are
// skipped. bf16 is widened to fp32 when packed and rounded once at the end; the weights P
// stay fp32.
//
// The includer defines the macros of ridge_micro.h, ATT_FN, and ATT_BF16 for bf16.
//
// FLOP (4D+6) per visible pair; bytes q, k, v, o once, packed K and V written and read besides.
// Limit: arithmetic; the exponential takes about 20 vector operations for each VL scores
// against D*VL multiply-adds of the two products.
// Source: Dao et al. 2022 (FlashAttention); Milakov and Gimelshein 2018 (running maximum).
#include "../include/ridge_half.h"
#include "../include/ridge_micro.h"
#include "attention.h"

enum { QB = 48, KEYS = 192, NR = RIDGE_NR, VL = RIDGE_VL };

typedef ridge_vf vf;
typedef ridge_vi vi;
typedef ridge_vf_any vf_any;

#if defined(ATT_BF16)
typedef ridge_bf16 et;
RIDGE_INLINE float load_one(const et *p) { return ridge_bf16_to_float(*p); }
RIDGE_INLINE RIDGE_VT vi load_vector(const et *p) { return ridge_bf16_load(p); }
#else
typedef float et;
RIDGE_INLINE float load_one(const et *p) { return *p; }
RIDGE_INLINE RIDGE_VT vi load_vector(const et *p) { return *(const ridge_vi_any *)p; }
#endif

RIDGE_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Sizes shared by all tasks, and where the parts of the workspace are.
typedef struct plan {
  int64_t heads;           // key/value heads of all sequences
  int64_t key_panels, dim_panels;
  int64_t k_floats, v_floats; // packed sizes of one head
  int64_t thread_floats, dim; // dim: D rounded up to panels
} plan;

RIDGE_INLINE plan plan_of(const ridge_attention_args *a) {
  plan p = {.heads = a->B * a->HKV, .key_panels = ceil_div(a->Skv, NR), .dim_panels = ceil_div(a->D, NR)};
  p.dim = p.dim_panels * NR;
  p.k_floats = p.key_panels * NR * a->D;
  p.v_floats = p.dim * a->Skv;
  // scores, sums, queries (bf16), running maximum and total; a cache line apart from the next
  p.thread_floats = QB * (KEYS + NR) + QB * p.dim + QB * (a->D + 16) + 2 * QB + 32;
  p.thread_floats = ceil_div(p.thread_floats, 16) * 16;
  p.k_floats = ceil_div(p.k_floats, 16) * 16, p.v_floats = ceil_div(p.v_floats, 16) * 16;
  return p;
}

#define ATT_CAT2(a, b) a##b
#define ATT_CAT(a, b) ATT_CAT2(a, b)

int64_t ATT_CAT(ATT_FN, _workspace)(const void *args, int32_t nthreads) {
  plan p = plan_of(args);
  return (p.heads * (p.k_floats + p.v_floats) + nthreads * p.thread_floats) * (int64_t)sizeof(float);
}

// Packs keys j0 .. j0+NR-1 of one head: kp[d][NR], vp[panel][j][NR]; columns past the end are 0.
RIDGE_VT static void pack_keys(const ridge_attention_args *a, const plan *p, const et *k, const et *v, float *kp, float *vp,
                               int64_t j0) {
  int64_t D = a->D, n = a->Skv - j0 < NR ? a->Skv - j0 : NR;
  for (int64_t j = 0; j < NR; j += VL) {
    int64_t d = 0;
    if (j + VL <= n)
      for (; d + VL <= D; d += VL) {
        vi r[VL];
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) r[l] = load_vector(k + (j0 + j + l) * D + d);
        ridge_transpose(r);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) *(ridge_vi_any *)(kp + (d + l) * NR + j) = r[l];
      }
    for (; d < D; d++)
      for (int64_t l = j; l < j + VL; l++) kp[d * NR + l] = l < n ? load_one(k + (j0 + l) * D + d) : 0;
  }
  for (int64_t j = j0; j < j0 + n; j++) {
    int64_t d = 0;
    for (; d + VL <= D; d += VL) *(ridge_vi_any *)(vp + (d / NR * a->Skv + j) * NR + d % NR) = load_vector(v + j * D + d);
    for (; d < p->dim; d++) vp[(d / NR * a->Skv + j) * NR + d % NR] = d < D ? load_one(v + j * D + d) : 0;
  }
}

// One row of scores: the first n become exp2(s*c - m*c), the rest up to width 0. Returns the
// factor for what was summed before.
RIDGE_INLINE RIDGE_VT float soften(float *s, int64_t n, int64_t width, float c, float *top, float *total) {
  if (n <= 0) {
    for (int64_t j = 0; j < width; j++) s[j] = 0;
    return 1;
  }
  for (int64_t j = n; j % VL != 0; j++) s[j] = s[0]; // lanes past the end take part as a copy
  vf mv = *(const vf_any *)s;
  for (int64_t j = VL; j < n; j += VL) mv = ridge_vmax(mv, *(const vf_any *)(s + j));
  float m = *top;
  for (int l = 0; l < VL; l++) m = mv[l] > m ? mv[l] : m;
  vf shift = (vf){0} + m * c, sum = (vf){0};
  float factor = *total == 0 ? 0 : ridge_vexp2((vf){0} + (*top * c - m * c))[0];
  int64_t j = 0;
  for (; j + VL <= n; j += VL) {
    vf e = ridge_vexp2(*(const vf_any *)(s + j) * c - shift);
    sum += e;
    *(vf_any *)(s + j) = e;
  }
  float rest = 0;
  if (j < n) {
    vf e = ridge_vexp2(*(const vf_any *)(s + j) * c - shift);
    *(vf_any *)(s + j) = e;
    for (; j < n; j++) rest += s[j];
  }
  for (j = n; j < width; j++) s[j] = 0;
  for (int l = 0; l < VL; l++) rest += sum[l];
  *top = m, *total = *total * factor + rest;
  return factor;
}

// Queries i0 .. i0+rows-1 of one head against its packed keys and values.
RIDGE_VT static void task(const ridge_attention_args *a, const plan *p, const et *q, const float *kp, const float *vp, et *o,
                          int64_t i0, int64_t rows, float *scratch) {
  enum { LDS = KEYS + NR };
  int64_t D = a->D, dim = p->dim;
  float *s = scratch, *sums = s + QB * LDS, *wide = sums + QB * dim, *top = wide + QB * (D + 16), *total = top + QB;
  float c = (float)(a->scale * 1.44269504088896340736);
#if defined(ATT_BF16)
  for (int64_t d = 0; d < rows * D; d++) wide[d] = load_one(q + i0 * D + d);
  const float *qf = wide;
#else
  const float *qf = q + i0 * D;
#endif
  for (int64_t i = 0; i < rows; i++) top[i] = -3.4e38f, total[i] = 0;
  for (int64_t d = 0; d < rows * dim; d++) sums[d] = 0;
  int64_t seen = ridge_attention_visible(a, i0 + rows - 1);
  for (int64_t j0 = 0; j0 < seen; j0 += KEYS) {
    int64_t n = seen - j0 < KEYS ? seen - j0 : KEYS;
    for (int64_t j = 0; j < n; j += NR)
      for (int64_t i = 0, mr; i < rows; i += mr) {
        mr = ridge_micro_rows(rows - i);
        if (ridge_attention_visible(a, i0 + i + mr - 1) <= j0 + j) continue;
        int64_t nv = n - j < NR ? ceil_div(n - j, VL) : RIDGE_NV;
        ridge_micro(mr, nv, D, qf + i * D, D, kp + (j0 + j) * D, s + i * LDS + j, LDS, 0);
      }
    for (int64_t i = 0; i < rows; i++) {
      int64_t vis = ridge_attention_visible(a, i0 + i) - j0;
      float f = soften(s + i * LDS, vis < n ? vis : n, n, c, top + i, total + i);
      if (f != 1)
        for (int64_t d = 0; d < dim; d += VL) *(vf_any *)(sums + i * dim + d) *= f;
    }
    for (int64_t d = 0; d < D; d += NR)
      for (int64_t i = 0, mr; i < rows; i += mr) {
        mr = ridge_micro_rows(rows - i);
        int64_t vis = ridge_attention_visible(a, i0 + i + mr - 1) - j0;
        if (vis <= 0) continue;
        int64_t nv = D - d < NR ? ceil_div(D - d, VL) : RIDGE_NV;
        ridge_micro(mr, nv, vis < n ? vis : n, s + i * LDS, LDS, vp + (d / NR * a->Skv + j0) * NR, sums + i * dim + d,
                                    dim, 1);
      }
  }
  for (int64_t i = 0; i < rows; i++) {
    float inv = total[i] > 0 ? 1 / total[i] : 0;
    for (int64_t d = 0; d < D; d++) {
      float x = sums[i * dim + d] * inv;
#if defined(ATT_BF16)
      o[(i0 + i) * D + d] = ridge_float_to_bf16(x);
#else
      o[(i0 + i) * D + d] = x;
#endif
    }
  }
}

RIDGE_VT int ATT_FN(const void *args, const ridge_ctx *ctx) {
  const ridge_attention_args *a = args;
  plan p = plan_of(a);
  if (ctx->workspace_bytes < ATT_CAT(ATT_FN, _workspace)(args, ctx->nthreads)) return RIDGE_E_WORKSPACE;
  float *kp = ctx->workspace, *vp = kp + p.heads * p.k_floats;
  float *scratch = vp + p.heads * p.v_floats + ctx->tid * p.thread_floats;
  int64_t from, to;
  ridge_share(p.heads * p.key_panels, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    int64_t g = u / p.key_panels, j0 = u % p.key_panels * NR, at = g * a->Skv * a->D;
    pack_keys(a, &p, (const et *)a->k + at, (const et *)a->v + at, kp + g * p.k_floats + j0 * a->D, vp + g * p.v_floats, j0);
  }
  ridge_barrier(ctx);
  // Smaller blocks of queries where there would be fewer than two tasks for each thread.
  int64_t qb = QB;
  while (qb > RIDGE_MR && a->B * a->H * ceil_div(a->Sq, qb) < 2 * ctx->nthreads) qb = (qb / 2 + RIDGE_MR - 1) / RIDGE_MR * RIDGE_MR;
  int64_t blocks = ceil_div(a->Sq, qb), tasks = a->B * a->H * blocks;
  // Every n-th task, the longest of a causal head first: the threads' work stays even.
  for (int64_t u = ctx->tid; u < tasks; u += ctx->nthreads) {
    int64_t h = u / blocks, i0 = (blocks - 1 - u % blocks) * qb, rows = a->Sq - i0 < qb ? a->Sq - i0 : qb;
    int64_t g = h / a->H * a->HKV + h % a->H / (a->H / a->HKV), at = h * a->Sq * a->D;
    task(a, &p, (const et *)a->q + at, kp + g * p.k_floats, vp + g * p.v_floats, (et *)a->o + at, i0, rows, scratch);
  }
  return RIDGE_OK;
}
