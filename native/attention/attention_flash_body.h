// The body of attention_{fp32,bf16}_{avx2,avx512,neon}: attention in blocks
//
//   S = Q[rows, D] * K^T[D, KEYS];  P = 2^(S - m);  l = l*f + rowsum P;  O = O*f + P * V[KEYS, D]
//
// with Q scaled by scale*log2(e) when packed, m the running row maximum and f = 2^(m_old - m_new):
// the S x S matrix never exists. All query heads that share a key/value head are one matrix of
// G*Sq rows. First every thread packs its share of V into strips (and, for bf16, widens K);
// then tasks of (key/value head, block of rows) run on their own, taken one by one from a
// counter, the longest of a causal head first. With few keys (OWN) there is nothing to share: each thread has an even
// part of all vectors of queries, packs the heads that it needs itself, or reads V in place where it stays in L1,
// and meets nobody before the end. V is also read in place, in blocks that stay in L1, where a head has no more queries than a task. A task walks the keys in blocks of KEYS; the
// K and V of a block stay in L2 while its panels of queries pass over them, a panel's scores in
// L1. Causal: keys that no query of a panel sees are skipped, tiles on the diagonal masked.
// bf16 is rounded once at the end; the weights P stay fp32.
//
// Few queries, up to ATT_FEW, go to attention_decode.h instead.
//
// The includer defines the macros of attention_tile.h, ATT_FN, ATT_PANELS (panels of a task), ATT_FEW
// and ATT_BF16 for bf16.
//
// Three further ops are parts of this one (attention_parts.h).
//
// FLOP (4D+6) per visible pair; bytes q, k, v, o once, packed V (bf16: and K) written and read besides.
// Limit: arithmetic. For VL scores the two products take 2D multiply-adds, the exponential and
// what belongs to it 8 on the same pipes and 8 other vector operations.
// Versions (Zen 3, one thread, of the FMA probe at 12 heads x 2048 x 64 and at 4096 x 128, full; medians of
// runs on a shared host, so only steps within one run are exact): 1, keys as lanes, K and V packed, 6x16
// tiles: 0.62-0.75, 0.62-0.82. 2, queries as lanes, multiply-adds left to gcc, which reloads operands:
// 0.66, 0.74. 3, multiply-adds spelled out: 0.82, 0.80. 4, masks out of line, then exponentials by
// columns (in one run 0.76 to 0.81 and 0.77 to 0.77): 0.83, 0.82. 6x16 instead of 4x24 tiles: 0.80
// against 0.84 and 0.75 against 0.83. Blocks of 128 to 256 keys, tasks of 48 to 192 queries, a
// polynomial of degree 5, unrolling by 2 or 8: within the noise.
// 5, few keys packed by each thread for itself or read in place, strips of V off the powers of two: counted, see docs/kernels/attention.md.
// 6, V in place for one task of a head (Emerald Rapids, fp32, one thread): 1.05 to 1.5 times as fast at 16 to 192 queries.
// On Zen 4 (AVX-512, the same of its probes): widened bf16 0.43 to 0.45, with dot products (attention_dot.h) 0.78, 0.84 and, at 4096 x 128, 0.88;
// fp32 0.83 to 0.90. Then exponentials between the dot products (attention_soft.h), blocks of 256 keys, the next queries asked for ahead and no
// division for each lane and block: 1.05 to 1.08 of that at d = 64, 1.03 to 1.04 at 128.
// Source: Dao et al. 2022 (FlashAttention); Milakov and Gimelshein 2018 (running maximum).
#include "../include/ridge_half.h"
#include "attention.h"
#include "attention_tile.h"

// WIDEN: K is packed as fp32.
#if defined(ATT_BF16)
typedef ridge_bf16 et;
RIDGE_INLINE float load_one(const et *p) { return ridge_bf16_to_float(*p); }
RIDGE_INLINE RIDGE_VT vf load_vector(const et *p) { return (vf)ridge_bf16_load(p); }
RIDGE_INLINE void store_one(et *p, float x) { *p = ridge_float_to_bf16(x); }
RIDGE_INLINE RIDGE_VT void store_vector(et *p, vf x) {
#if defined(RIDGE_NARROW) // one instruction in place of a dozen; it flushes denormals
  RIDGE_NARROW(p, x);
#else
  ridge_bf16_store(p, x);
#endif
}
#else
typedef float et;
RIDGE_INLINE float load_one(const et *p) { return *p; }
RIDGE_INLINE RIDGE_VT vf load_vector(const et *p) { return *(const vf_any *)p; }
RIDGE_INLINE void store_one(et *p, float x) { *p = x; }
RIDGE_INLINE RIDGE_VT void store_vector(et *p, vf x) { *(vf_any *)p = x; }
#endif
#if defined(ATT_BF16) && !defined(ATT_DOT)
enum { WIDEN = 1 };
#else
enum { WIDEN = 0 };
#endif
// V may be read in place: its elements are the operands.
#if defined(ATT_BF16)
enum { IN_PLACE = 0 };
#else
enum { IN_PLACE = 1 };
#endif

RIDGE_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
RIDGE_INLINE int64_t att_min(int64_t a, int64_t b) { return a < b ? a : b; }

// Sizes shared by all tasks. The workspace holds the task counter (a cache line), the packed
// blocks, head by head (OWN: of one head for each thread), then each thread's scratch.
typedef struct plan {
  int own, in_place;        // each thread packs for itself; V is not packed at all
  int64_t keys;             // of a block
  int64_t heads, rows;      // key/value heads of all sequences; queries that share one
  int64_t blocks, dim;      // blocks of keys of a head; D rounded up to strips
  int64_t k_units, v_units; // packed sizes of one block of keys; k_units 0: K is read in place
  int64_t block_rows, tasks;  // queries of a task; tasks of a head
  int64_t head_floats, thread_floats;
} plan;

RIDGE_INLINE int64_t weights_floats(const ridge_attention_args *a);
RIDGE_INLINE int64_t apart_floats(int64_t n) { return ridge_apart(n * (int64_t)sizeof(float)) / (int64_t)sizeof(float); }

// OWN: keys up to which a thread packs for itself; the packing is then little beside what waiting for the others costs, even
// where two of them share a head. NEAR: bytes of V that stay in L1 beside a panel's scores. BLOCK: bytes of a block of V that is read in place
// because a task has all queries of its head, so that packing it would serve once.
enum { OWN = 256, NEAR = 32 << 10, BLOCK = 16 << 10 };

RIDGE_INLINE plan plan_of(const attention_args *full, int32_t nthreads) {
  const ridge_attention_args *a = &full->of;
  plan p = {.heads = a->B * a->HKV, .rows = a->H / a->HKV * a->Sq};
  p.keys = KEYS, p.dim = ceil_div(a->D, MR) * MR;
  // An even part of the queries of causal heads is even work only in whole heads.
  p.own = a->Skv <= OWN && (!a->causal || p.heads % nthreads == 0);
  const int64_t row_bytes = a->D * (int64_t)sizeof(et);
  if (IN_PLACE && a->D % MR == 0) {
    p.in_place = 1;
    if (p.own && a->Skv * row_bytes <= NEAR) p.keys = KEYS;
    else if (p.rows <= ATT_PANELS * PANEL) p.keys = ceil_div(att_min(KEYS, BLOCK / row_bytes), 16) * 16;
    else p.in_place = 0;
  }
  p.blocks = ceil_div(a->Skv, p.keys);
  p.k_units = WIDEN && !full->scores ? KEYS * a->D : 0;
  p.v_units = p.in_place || full->weights ? 0 : STRIP * (p.dim / MR);
  // Fewer queries to a task where there would be fewer than two tasks for each of several threads.
  int64_t panels = ATT_PANELS;
  while (nthreads > 1 && panels > 1 && p.heads * ceil_div(p.rows, panels * PANEL) < 2 * nthreads) panels--;
  int64_t vectors = panels * NV;
  while (panels == 1 && vectors > 1 && p.heads * ceil_div(p.rows, vectors * VL) < nthreads) vectors--;
  p.tasks = ceil_div(p.rows, vectors * VL);
  // One panel and a rest: in even parts.
  if (p.tasks == 2 && panels == 1) vectors = ceil_div(p.rows, 2 * VL);
  p.block_rows = vectors * VL;
  // Packed queries and sums; scores; per query: limit, old maximum and factor of a panel,
  // maximum (twice) and total of the task.
  p.thread_floats = ATT_PANELS * PANEL * (a->D + p.dim + 3) + (KEYS + MR) * PANEL + 3 * PANEL + 16;
  if (full->weights) p.thread_floats = weights_floats(a);
  p.thread_floats = apart_floats(p.thread_floats);
  p.head_floats = p.blocks * (p.k_units + p.v_units);
  if (p.own) p.head_floats = apart_floats(p.head_floats);
  return p;
}

// Heads whose packed blocks are held at once.
RIDGE_INLINE int64_t packed_heads(const plan *p, int32_t nthreads) { return p->own ? nthreads : p->heads; }

RIDGE_INLINE int by_rows(const attention_args *full); // attention_rows.h

#include "attention_decode.h"

#define ATT_CAT2(a, b) a##b
#define ATT_CAT(a, b) ATT_CAT2(a, b)

RIDGE_INLINE int64_t row_floats(const ridge_attention_args *a);
RIDGE_INLINE int only_softmax(const attention_args *full) { return full->scores && full->weights; }
RIDGE_INLINE int few_queries(const attention_args *full) { return !full->scores && !full->weights && decodes(&full->of); }

int64_t ATT_CAT(ATT_FN, _workspace)(const void *args, int32_t nthreads) {
  const ridge_attention_args *a = args;
  if (only_softmax(args)) return nthreads * row_floats(a) * (int64_t)sizeof(float);
  if (by_rows(args)) return 0;
  if (few_queries(args)) return nthreads * (2 * part_floats(a) + apart_floats(CHUNK * ATT_FEW)) * (int64_t)sizeof(float);
  plan p = plan_of(args, nthreads);
  return 4096 +
         (packed_heads(&p, nthreads) * p.head_floats + nthreads * p.thread_floats) * (int64_t)sizeof(float);
}

#include "attention_pack.h"

// Rows of the output from o[d][w] and the totals' inverses.
RIDGE_VT static void unpack_output(int64_t D, int64_t rows, int64_t w, const float *o, const float *inverse, et *to) {
  for (int64_t i = 0; i < rows; i += VL) {
    vf inv = *(const vf_any *)(inverse + i);
    int64_t d = 0;
    if (i + VL <= rows)
      for (; d + VL <= D; d += VL) {
        vi r[VL];
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) r[l] = (vi)(*(const vf_any *)(o + (d + l) * w + i) * inv);
        ridge_transpose(r);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) store_vector(to + (i + l) * D + d, (vf)r[l]);
      }
    for (; d < D; d++)
      for (int64_t l = i; l < rows && l < i + VL; l++) store_one(to + l * D + d, o[d * w + l] * inverse[l]);
  }
}

#include "attention_parts.h"
#include "attention_rows.h"

// One key/value head: its operands where they lie and its packed blocks.
typedef struct operands {
  const et *q, *k, *v, *scores;
  et *o, *weights;
  int stream; // weights past the caches
  operand *packed;
} operands;

RIDGE_INLINE operands operands_of(const attention_args *full, const plan *p, int64_t g, operand *packed) {
  const ridge_attention_args *a = &full->of;
  int64_t q = g * p->rows * a->D, kv = g * a->Skv * a->D, s = g * p->rows * a->Skv;
  operands h = {.packed = packed};
  if (full->scores) h.scores = (const et *)full->scores + s;
  else h.q = (const et *)a->q + q, h.k = (const et *)a->k + kv;
  if (full->weights) h.weights = (et *)full->weights + s, h.stream = streams(full);
  else h.v = (const et *)a->v + kv, h.o = (et *)a->o + q;
  return h;
}

// Block b of a head.
RIDGE_VT static void pack_head_block(const ridge_attention_args *a, const plan *p, const operands *h, int64_t b) {
  int64_t j0 = b * KEYS, at = j0 * a->D, span = p->k_units + p->v_units;
  pack_block(a->D, p->dim, att_min(a->Skv - j0, KEYS), p->k_units ? h->k + at : NULL, p->v_units ? h->v + at : NULL,
             h->packed + b * span, h->packed + b * span + p->k_units);
}

// Rows r0 .. r0+rows-1 of one key/value head's queries.
RIDGE_VT static void task(const ridge_attention_args *a, const plan *p, const operands *h, int64_t r0, int64_t rows, float *scratch) {
  int64_t D = a->D, dim = p->dim, vectors = ceil_div(rows, VL), span = p->k_units + p->v_units;
  const key *k = WIDEN ? (const key *)h->packed : (const key *)h->k;
  if (h->weights) {
    weights_task(a, h->stream, h->q, k, h->weights, r0, rows, scratch);
    return;
  }
  operand *qp = (operand *)scratch;
  float *sums = scratch + ATT_PANELS * PANEL * D, *s = sums + ATT_PANELS * PANEL * dim;
  float *top = s + (KEYS + MR) * PANEL, *total = top + ATT_PANELS * PANEL, *was = total + ATT_PANELS * PANEL;
  float *factor = was + PANEL;
  float *before = factor + PANEL;
  int32_t *seen = (int32_t *)(before + ATT_PANELS * PANEL);
  const float c = (float)(a->scale * LOG2E), by = h->scores ? (float)LOG2E : SCALED ? 1 : c;
#if defined(ATT_SOFT)
  const int soft = !h->scores && soft_takes(D, a->Skv);
#endif
  int64_t sees[ATT_PANELS * PANEL], most = 0; // keys that a query sees, that some query sees
  for (int64_t i = 0, nv; h->q && i < vectors; i += nv) {
    nv = panel_vectors(vectors - i);
    pack_queries(D, att_min(rows - i * VL, nv * VL), nv * VL, h->q + (r0 + i * VL) * D, c, qp + i * VL * UNITS(D));
  }
  for (int64_t i = 0; i < vectors * VL; i++) top[i] = before[i] = BEFORE, total[i] = 0;
  memset(sums, 0, (size_t)(vectors * VL * dim) * sizeof(float));
  // Lanes past the last query see what it sees. A division for each lane and block took 2 % at 512 keys.
  for (int64_t i = 0, at = r0 % a->Sq; i < vectors * VL; i++) {
    sees[i] = ridge_attention_visible(a, at);
    most = sees[i] > most ? sees[i] : most;
    if (i + 1 < rows && ++at == a->Sq) at = 0;
  }
  for (int64_t j0 = 0; j0 < most; j0 += p->keys) {
    const operand *vb = p->in_place ? (const operand *)(h->v + j0 * D) : h->packed + j0 / KEYS * span + p->k_units;
    const key *kb = WIDEN ? k + j0 / KEYS * span : k + j0 * D;
    for (int64_t i = 0, nv; i < vectors; i += nv) {
      nv = panel_vectors(vectors - i);
      const int64_t first = i * VL, end = att_min(a->Skv - j0, p->keys);
      int64_t n = 0, clear = end;
      for (int64_t l = 0; l < nv * VL; l++) {
        int64_t x = sees[first + l] - j0;
        x = x < 0 ? 0 : x < end ? x : end;
        seen[l] = (int32_t)x, n = x > n ? x : n, clear = x < clear ? x : clear;
      }
      if (n == 0) continue;
#if defined(ATT_SOFT)
      if (soft) {
        soft_work *work = (soft_work *)(s + UNITS(KEYS) * PANEL);
        for (int again = 0; again < 2; again++)
          if (soft_scores((int)nv, D, kb, D, n, qp + first * UNITS(D), s, work, before + first, top + first, total + first, factor, seen, clear, c)) break;
        gather((int)nv, dim, n, vb, MR, STRIP, s, factor, sums + first * dim);
        continue;
      }
#endif
      memcpy(was, top + first, (size_t)(nv * VL) * sizeof(float));
      if (h->scores) {
        int64_t m = att_min(rows - first, nv * VL);
        load_scores((int)nv, n, h->scores + (r0 + first) * a->Skv + j0, a->Skv, m, j0 + n < a->Skv ? p->keys : 0, s, top + first);
      } else {
        scores((int)nv, D, kb, D, n, qp + first * UNITS(D), s, top + first, seen, clear);
      }
      soften((int)nv, n, s, was, top + first, total + first, factor, by);
      gather((int)nv, dim, n, vb, p->in_place ? D : MR, p->in_place ? MR : STRIP, s, factor, sums + first * dim);
    }
  }
  for (int64_t i = 0; i < vectors * VL; i++) total[i] = 1 / total[i];
  for (int64_t i = 0, nv; i < vectors; i += nv) {
    nv = panel_vectors(vectors - i);
    // A query that sees no key: its output is 0, whatever V holds.
    for (int64_t l = 0; l < nv * VL; l++) {
      if (sees[i * VL + l] > 0) continue;
      total[i * VL + l] = 0;
      for (int64_t d = 0; d < dim; d++) sums[(i * dim + d * nv) * VL + l] = 0;
    }
    unpack_output(D, att_min(rows - i * VL, nv * VL), nv * VL, sums + i * VL * dim, total + i * VL, h->o + (r0 + i * VL) * D);
  }
}

// Few keys: an even part of all vectors of queries for each thread.
RIDGE_VT static void run_own(const attention_args *full, const plan *p, const ridge_ctx *ctx, operand *packed, float *scratch) {
  const ridge_attention_args *a = &full->of;
  int64_t per = ceil_div(p->rows, VL), most = ATT_PANELS * NV, from, to;
  ridge_share(p->heads * per, 1, ctx->tid, ctx->nthreads, &from, &to);
  packed += ctx->tid * p->head_floats;
  for (int64_t u = from, n; u < to; u += n) {
    int64_t i = u % per, end = u - i + per < to ? per : to - (u - i);
    operands h = operands_of(full, p, u / per, packed);
    n = end - i;
    if (p->k_units + p->v_units > 0)
      for (int64_t b = 0; b < p->blocks; b++) pack_head_block(a, p, &h, b);
    for (; i < end; i += most) {
      int64_t vectors = att_min(end - i, most);
      task(a, p, &h, i * VL, att_min(p->rows - i * VL, vectors * VL), scratch);
    }
  }
}

RIDGE_VT static int run(const attention_args *full, const ridge_ctx *ctx) {
  const ridge_attention_args *a = &full->of;
  if (ctx->workspace_bytes < ATT_CAT(ATT_FN, _workspace)(full, ctx->nthreads)) return RIDGE_E_WORKSPACE;
  if (only_softmax(full)) {
    run_softmax(full, ctx);
    return RIDGE_OK;
  }
  if (by_rows(full)) {
    run_rows(full, ctx);
    return RIDGE_OK;
  }
  if (few_queries(full)) {
    decode(a, ctx, (float *)ctx->workspace + 2 * ctx->nthreads * part_floats(a) + ctx->tid * apart_floats(CHUNK * ATT_FEW));
    return RIDGE_OK;
  }
  plan p = plan_of(full, ctx->nthreads);
  int64_t *next = ctx->workspace, head = p.head_floats;
  operand *packed = (operand *)((char *)ctx->workspace + 4096);
  float *scratch = (float *)packed + packed_heads(&p, ctx->nthreads) * head + ctx->tid * p.thread_floats;
  if (p.own) {
    run_own(full, &p, ctx, packed, scratch);
    return RIDGE_OK;
  }
  if (ctx->tid == 0) __atomic_store_n(next, 0, __ATOMIC_RELAXED); // the barrier orders it
  int64_t from, to;
  ridge_share(head > 0 ? p.heads * p.blocks : 0, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    operands h = operands_of(full, &p, u / p.blocks, packed + u / p.blocks * head);
    pack_head_block(a, &p, &h, u % p.blocks);
  }
  ridge_barrier(ctx);
  for (;;) {
    int64_t u = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    if (u >= p.heads * p.tasks) return RIDGE_OK;
    int64_t g = u / p.tasks, r0 = (p.tasks - 1 - u % p.tasks) * p.block_rows;
    operands h = operands_of(full, &p, g, packed + g * head);
    task(a, &p, &h, r0, att_min(p.rows - r0, p.block_rows), scratch);
  }
}

// ATT_BEGIN and ATT_END: what a thread's state needs around the kernel.
#if !defined(ATT_BEGIN)
#define ATT_BEGIN
#define ATT_END
#endif

RIDGE_VT int ATT_FN(const void *args, const ridge_ctx *ctx) {
  ATT_BEGIN
  const int status = run(args, ctx);
  ATT_END
  return status;
}
