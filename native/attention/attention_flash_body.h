// The body of attention_{fp32,bf16}_{avx2,avx512,neon}: attention in blocks
//
//   S = Q[rows, D] * K^T[D, KEYS];  P = 2^(S - m);  l = l*f + rowsum P;  O = O*f + P * V[KEYS, D]
//
// with Q scaled by scale*log2(e) when packed, m the running row maximum and f = 2^(m_old - m_new):
// the S x S matrix never exists. All query heads that share a key/value head are one matrix of
// G*Sq rows. First every thread packs its share of V into strips (and, for bf16, widens K);
// then tasks of (key/value head, block of rows) run on their own, taken one by one from a
// counter, the longest of a causal head first. A task walks the keys in blocks of KEYS; the
// K and V of a block stay in L2 while its panels of queries pass over them, a panel's scores in
// L1. Causal: keys that no query of a panel sees are skipped, tiles on the diagonal masked.
// bf16 is rounded once at the end; the weights P stay fp32.
//
// Up to ATT_FEW queries go to attention_decode.h instead.
//
// The includer defines the macros of attention_tile.h, ATT_FN, ATT_PANELS (panels of a task), ATT_FEW
// and ATT_BF16 for bf16.
//
// FLOP (4D+6) per visible pair; bytes q, k, v, o once, packed V (bf16: and K) written and read besides.
// Limit: arithmetic. For VL scores the two products take 2D multiply-adds, the exponential and
// what belongs to it 7 on the same pipes and 9 other vector operations.
// Versions (Zen 3, one thread, of the FMA probe at 12 heads x 2048 x 64 and at 4096 x 128, full; medians of
// runs on a shared host, so only steps within one run are exact): 1, keys as lanes, K and V packed, 6x16
// tiles: 0.62-0.75, 0.62-0.82. 2, queries as lanes, multiply-adds left to gcc, which reloads operands:
// 0.66, 0.74. 3, multiply-adds spelled out: 0.82, 0.80. 4, masks out of line, then exponentials by
// columns (in one run 0.76 to 0.81 and 0.77 to 0.77): 0.83, 0.82. 6x16 instead of 4x24 tiles: 0.80
// against 0.84 and 0.75 against 0.83. Blocks of 128 to 256 keys, tasks of 48 to 192 queries, a
// polynomial of degree 5, unrolling by 2 or 8: within the noise.
// On Zen 4 (AVX-512, the same of its probes): widened bf16 0.43 to 0.45, with dot products (attention_dot.h) 0.78, 0.84 and, at 4096 x 128, 0.88;
// fp32 0.83 to 0.90.
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
RIDGE_INLINE RIDGE_VT void store_vector(et *p, vf x) { ridge_bf16_store(p, x); }
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

RIDGE_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
RIDGE_INLINE int64_t att_min(int64_t a, int64_t b) { return a < b ? a : b; }

// Sizes shared by all tasks. The workspace holds the task counter (a cache line), the packed
// blocks, head by head, then each thread's scratch.
typedef struct plan {
  int64_t heads, rows;      // key/value heads of all sequences; queries that share one
  int64_t blocks, dim;      // blocks of keys of a head; D rounded up to strips
  int64_t k_units, v_units; // packed sizes of one block of keys; k_units 0: K is read in place
  int64_t block_rows, tasks;  // queries of a task; tasks of a head
  int64_t thread_floats;
} plan;

RIDGE_INLINE plan plan_of(const ridge_attention_args *a, int32_t nthreads) {
  plan p = {.heads = a->B * a->HKV, .rows = a->H / a->HKV * a->Sq};
  p.blocks = ceil_div(a->Skv, KEYS), p.dim = ceil_div(a->D, MR) * MR;
  p.k_units = WIDEN ? KEYS * a->D : 0, p.v_units = UNITS(KEYS) * p.dim;
  // Fewer queries to a task where there would be fewer than two tasks for each thread.
  int64_t panels = ATT_PANELS;
  while (panels > 1 && p.heads * ceil_div(p.rows, panels * PANEL) < 2 * nthreads) panels--;
  p.block_rows = panels * PANEL;
  if (panels == 1)
    for (int64_t v = NV; v > 1 && p.heads * ceil_div(p.rows, p.block_rows) < nthreads; v--) p.block_rows = (v - 1) * VL;
  p.tasks = ceil_div(p.rows, p.block_rows);
  // Packed queries and sums; scores; per query: limit, old maximum and factor of a panel,
  // maximum and total of the task. A cache line apart from the next thread's.
  p.thread_floats = ATT_PANELS * PANEL * (a->D + p.dim + 2) + (KEYS + MR) * PANEL + 3 * PANEL + 16;
  p.thread_floats = ceil_div(p.thread_floats, 16) * 16;
  return p;
}

#include "attention_decode.h"

#define ATT_CAT2(a, b) a##b
#define ATT_CAT(a, b) ATT_CAT2(a, b)

int64_t ATT_CAT(ATT_FN, _workspace)(const void *args, int32_t nthreads) {
  const ridge_attention_args *a = args;
  if (decodes(a)) return nthreads * (2 * part_floats(a) + CHUNK * ATT_FEW) * (int64_t)sizeof(float);
  plan p = plan_of(args, nthreads);
  return RIDGE_CACHE_LINE + (p.heads * p.blocks * (p.k_units + p.v_units) + nthreads * p.thread_floats) * (int64_t)sizeof(float);
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

// Rows r0 .. r0+rows-1 of one key/value head's queries; packed: its blocks.
RIDGE_VT static void task(const ridge_attention_args *a, const plan *p, const et *q, const key *k, const operand *packed, et *o,
                          int64_t r0, int64_t rows, float *scratch) {
  int64_t D = a->D, dim = p->dim, vectors = ceil_div(rows, VL), span = p->k_units + p->v_units;
  operand *qp = (operand *)scratch;
  float *sums = scratch + ATT_PANELS * PANEL * D, *s = sums + ATT_PANELS * PANEL * dim;
  float *top = s + (KEYS + MR) * PANEL, *total = top + ATT_PANELS * PANEL, *was = total + ATT_PANELS * PANEL;
  float *factor = was + PANEL;
  int32_t *seen = (int32_t *)(factor + PANEL);
  float c = (float)(a->scale * 1.44269504088896340736);
  int64_t most = 0; // keys that some query sees
  for (int64_t i = 0, nv; i < vectors; i += nv) {
    nv = panel_vectors(vectors - i);
    pack_queries(D, att_min(rows - i * VL, nv * VL), nv * VL, q + (r0 + i * VL) * D, c, qp + i * VL * UNITS(D));
  }
  for (int64_t i = 0; i < vectors * VL; i++) top[i] = HIDDEN, total[i] = 0;
  memset(sums, 0, (size_t)(vectors * VL * dim) * sizeof(float));
  for (int64_t i = 0; i < rows; i++) {
    int64_t n = ridge_attention_visible(a, (r0 + i) % a->Sq);
    most = n > most ? n : most;
  }
  for (int64_t j0 = 0; j0 < most; j0 += KEYS) {
    const operand *vb = packed + j0 / KEYS * span + p->k_units;
    const key *kb = WIDEN ? (const key *)(packed + j0 / KEYS * span) : k + j0 * D;
    for (int64_t i = 0, nv; i < vectors; i += nv) {
      nv = panel_vectors(vectors - i);
      int64_t first = i * VL, n = 0, clear = KEYS;
      for (int64_t l = 0; l < nv * VL; l++) {
        int64_t sees = first + l < rows ? ridge_attention_visible(a, (r0 + first + l) % a->Sq) - j0 : KEYS;
        sees = sees < 0 ? 0 : att_min(sees, att_min(a->Skv - j0, KEYS));
        seen[l] = (int32_t)sees;
        if (first + l < rows) n = sees > n ? sees : n, clear = sees < clear ? sees : clear;
      }
      if (n == 0) continue;
      memcpy(was, top + first, (size_t)(nv * VL) * sizeof(float));
      scores((int)nv, D, kb, D, n, qp + first * UNITS(D), s, top + first, seen, clear);
      soften((int)nv, n, s, was, top + first, total + first, factor, c);
      gather((int)nv, dim, n, vb, s, factor, sums + first * dim);
    }
  }
  // A query that sees no key has only hidden scores, each with the weight 1: its output is 0.
  for (int64_t i = 0; i < vectors * VL; i++) {
    int64_t n = i < rows ? ridge_attention_visible(a, (r0 + i) % a->Sq) : 0;
    total[i] = n > 0 ? 1 / total[i] : 0;
  }
  for (int64_t i = 0, nv; i < vectors; i += nv) {
    nv = panel_vectors(vectors - i);
    unpack_output(D, att_min(rows - i * VL, nv * VL), nv * VL, sums + i * VL * dim, total + i * VL, o + (r0 + i * VL) * D);
  }
}

RIDGE_VT int ATT_FN(const void *args, const ridge_ctx *ctx) {
  const ridge_attention_args *a = args;
  if (ctx->workspace_bytes < ATT_CAT(ATT_FN, _workspace)(args, ctx->nthreads)) return RIDGE_E_WORKSPACE;
  if (decodes(a)) {
    decode(a, ctx, (float *)ctx->workspace + 2 * ctx->nthreads * part_floats(a) + ctx->tid * CHUNK * ATT_FEW);
    return RIDGE_OK;
  }
  plan p = plan_of(a, ctx->nthreads);
  int64_t *next = ctx->workspace, span = p.k_units + p.v_units;
  operand *packed = (operand *)((char *)ctx->workspace + RIDGE_CACHE_LINE);
  float *scratch = (float *)packed + p.heads * p.blocks * span + ctx->tid * p.thread_floats;
  if (ctx->tid == 0) __atomic_store_n(next, 0, __ATOMIC_RELAXED); // the barrier orders it
  int64_t from, to;
  ridge_share(p.heads * p.blocks, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    int64_t g = u / p.blocks, j0 = u % p.blocks * KEYS, at = (g * a->Skv + j0) * a->D;
    pack_block(a->D, p.dim, att_min(a->Skv - j0, KEYS), (const et *)a->k + at, (const et *)a->v + at, packed + u * span,
               packed + u * span + p.k_units);
  }
  ridge_barrier(ctx);
  for (;;) {
    int64_t u = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    if (u >= p.heads * p.tasks) return RIDGE_OK;
    int64_t g = u / p.tasks, r0 = (p.tasks - 1 - u % p.tasks) * p.block_rows, at = g * p.rows * a->D;
    const key *k = WIDEN ? NULL : (const key *)a->k + g * a->Skv * a->D;
    task(a, &p, (const et *)a->q + at, k, packed + g * p.blocks * span, (et *)a->o + at, r0, att_min(p.rows - r0, p.block_rows),
         scratch);
  }
}
