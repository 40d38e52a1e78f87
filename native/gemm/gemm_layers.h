// Two products in one launch (template, after gemm_driver.h; fp32 and bf16, by multiply-adds, dot products and tiles), row-major, weights
// stored [out,in]:
//
//   swiglu: Y[M,N] = silu(X[M,K]*B[N,K]^T) o (X*B2[N,K]^T)
//   mlp:    Y[M,N] = act(X[M,K]*B[H,K]^T + bias[H]) * B2[N,H]^T + bias2[N]
//
// Any shape and alignment; Y overlaps nothing. FLOP: swiglu 4MNK + 6MN, mlp 2MHK + 2MNH, the biases and the activation.
// Bytes: X, the weights and Y once; what lies between the products never leaves the caches.
// Limit: the multiply-adds of the register tile from some 50 rows on, below it packing and reading the weights, which no row
// count changes, up to 3 rows the memory.
//
//   for blocks of R rows of X: the team packs them in all of K; barrier (GEMM_LYING: they are read where they lie, the hidden block too)
//     swiglu: each thread, for its columns by two panels: sums of the gate, sums of up, both in its L2; then the
//       combination, four vectors side by side, straight to Y
//     mlp: for chunks of HC hidden features:
//       each thread, for its part of the chunk by four panels: sums (its L2), bias and activation on the tiles' registers into the hidden block; barrier
//       the team packs the hidden block as A of the second product; barrier
//       each thread, for its columns of Y by four panels: sums += hidden block * B2 chunk, in the last chunk with its bias to Y
//
// R = 8 MC at most (matrix tiles 2, packed weights 1: what is read again needs no packing; GEMM_LYING 1024, 512), HC blocks of KC, as many as GEMM_LAYERS_HIDDEN has room for (more
// where the team has more panels to share): what a thread goes through for four panels, its sums and the panels, lies in L2, the packed block in L3, where each panel of A is read once for four of B. A chunk is whole blocks of K of the
// second product, so that its sums are touched as often as C is there. Multiply-adds keep the hidden block in the accumulator's type: nothing is rounded in between. Dot products
// and tiles take operands of 16 bits, so it is rounded to bf16 once, as the chain of two layers rounds what it stores (mlp_* of kernels.def).
// Few rows go by gemm_dots.h (tiles take 4 and more here: ridge_gemm_thick): nothing is packed. Up to 3 rows the hidden features are one chunk, so
// that the rows of B2 are read to their ends (fp32 1x768x3072 of the chain: 0.57 by chunks of 1,024 features, then 1.0).
//
// Weights packed beforehand: both matrices as gemm_packed.h has one, one behind the other, the second of mlp by blocks of K that make up a chunk;
// no rows go by dot products then. Matrix tiles go by gemm_layers_tiles.h, but for SwiGLU of more rows and weights as they lie. Exact tiles ask for what follows as gemm_own.h does: all of a piece at once before it (Emerald Rapids, swiglu of
// 1024 and 2816 features, two threads, of weights as they lie) 8 rows 1.03, 64 rows 1.27, so 1.5 and 1.7; SwiGLU by four panels of each matrix, not two, 8 rows 1.1.

// Whether the hidden block is of C's type, so that tiles end the first product on their registers.
#define GEMM_LAYERS_ENDS (GEMM_PK > 1 || GEMM_C_IS_S)
#if GEMM_PK > 1 // what the hidden block holds
#define GEMM_HID GEMM_TA
#define GEMM_HID_STORE(p, v) GEMM_STOREV(p, v)
#else
#define GEMM_HID GEMM_S
#define GEMM_HID_STORE(p, v) (*(GEMM_F(vecu) *)(p) = (v))
#endif

// Blocks of MC rows for which weights are read from memory and packed once. Zen 4, 8 for 2, mlp of 1024 rows, 1024 and 4096 features: two threads
// bf16 1.12 and 1.14 times as fast in two series, fp32 1.11 and 1.06, one thread 1.04 and 1.03 (what of it packing takes was not measured apart);
// 512 rows, two threads, 1.03 and 1.05; swiglu of 1024 rows, 2816 features, 1.06 and 1.02. 4 for 2: mlp of 1024 rows 1.06 and 0.97.
#if GEMM_TILES // not measured with more
#define GEMM_LAYERS_BLOCKS 2
#elif GEMM_LYING // nothing of X is packed: MC is not what L2 holds of it
#define GEMM_LAYERS_MC 512
#define GEMM_LAYERS_BLOCKS 2
#else
#define GEMM_LAYERS_BLOCKS 8
#endif
#ifndef GEMM_LAYERS_MC
#define GEMM_LAYERS_MC GEMM_MC
#endif
// Bytes of the hidden block that chunks are made for, since each chunk has two barriers. Emerald Rapids, two threads, mlp of 768 and 3072 features with
// packed weights, of ridge's own chain of two layers so packed: chunks of 256 features 8 rows 0.82, 16 rows 0.92, 64 rows 0.94; by 1 MiB 1.05, 1.07, 0.99;
// by 8 MiB 64 rows 1.00, 512 rows 0.91 (1 MiB 0.95).
#define GEMM_LAYERS_HIDDEN (1 << 20)
// Bytes of hidden features of a chunk by dot products, for more than 3 rows, and the fewest features of one: the rows of B2 are read in as long runs as a
// thread's copy of the chunk leaves room for in an L2 of 2 MiB (smaller ones were not measured: 1024 features there). Emerald Rapids, one thread, mlp of 768 and 3072 features in bf16,
// of its chain of two layers by chunks of 1024, 2048 and 4096 features: 8 rows 0.93, 0.97, 0.99 to 1.00, 16 rows 0.955, 0.97, 1.00, 32 rows 0.97, 0.98, 0.99; fp32 by this rule 4, 8
// and 16 rows 1.00, of 0.97 to 0.98.
#ifdef GEMM_COVE
#define GEMM_LAYERS_DOTS_HID (256 << 10)
#else
#define GEMM_LAYERS_DOTS_HID 0
#endif
#define GEMM_LAYERS_DOTS_H 1024

#ifdef GEMM_DOTS_MAX
#define GEMM_LAYERS_DOTS(g) ((g)->M <= GEMM_DOTS_MAX && !(g)->packing)
#endif

// How a launch is cut, and where its parts of the workspace begin.
typedef struct GEMM_F(layers_plan) {
  int64_t rows, kc, hc, kc2;    // rows of a block, K of a block, hidden features of a chunk and of a block of it
  int64_t a1, a2;               // bytes of one packed block of K of X, of the hidden block
  int64_t cols;                 // that SwiGLU has of each matrix at a time
  int64_t acc_ld, hid_ld, y_ld; // pitches of sums
  int64_t b_at, a1_at, a2_at, acc_at, hid_at, y_at, total;
  int64_t b_bytes, acc_bytes;   // of one thread
} GEMM_F(layers_plan);

RIDGE_INLINE GEMM_F(layers_plan) GEMM_F(make_layers_plan)(const ridge_gemm_args *g, int64_t nthreads) {
  GEMM_F(layers_plan) p;
  const int mlp = g->layers == RIDGE_LAYERS_MLP;
  const int64_t s = sizeof(GEMM_S), block = g->kc > 0 ? g->kc : GEMM_KC;
#ifdef GEMM_DOTS_MAX
  if (GEMM_LAYERS_DOTS(g)) {
    memset(&p, 0, sizeof p);
    p.hc = g->M > 3 ? gemm_block(g->H, gemm_most(GEMM_LAYERS_DOTS_H, GEMM_LAYERS_DOTS_HID / (g->M * s)), 16) : gemm_ceil(g->H, 16);
    p.hid_ld = p.hc + 16;
    p.y_ld = gemm_ceil(g->N, 16) + 16;
    p.a1 = GEMM_F(dots_bytes)(g->M, g->K);
    p.b_bytes = gemm_ceil(p.a1 + (mlp ? GEMM_F(dots_bytes)(g->M, p.hc) : 0), 4096);
    p.hid_at = nthreads * p.b_bytes;
    p.y_at = gemm_ceil(p.hid_at + (mlp ? g->M * p.hid_ld * s : 0), 4096);
    p.total = p.y_at + (mlp && p.hc < g->H ? g->M * p.y_ld * s : 0);
    return p;
  }
#endif
  p.rows = gemm_block(g->M, (g->packing ? 1 : GEMM_LAYERS_BLOCKS) * (g->mc > 0 ? g->mc : GEMM_LAYERS_MC), 1);
  p.kc = gemm_block(g->K, block, GEMM_KU);
  p.kc2 = mlp ? gemm_ceil(gemm_min(block, g->H), GEMM_NR) : 0; // whatever the threads: a packed copy serves any team
  p.hc = mlp ? gemm_min(gemm_ceil(gemm_most(2 * nthreads * GEMM_NR, GEMM_LAYERS_HIDDEN / (p.rows * s)), p.kc2), gemm_ceil(g->H, p.kc2)) : 0;
  const int64_t tiles = (p.rows + GEMM_MR - 1) / GEMM_MR, high = tiles * GEMM_MR;
  p.a1 = GEMM_LYING ? 0 : gemm_ceil(tiles * GEMM_A_PANEL(p.kc), 64);
  p.a2 = GEMM_LYING ? 0 : gemm_ceil(tiles * GEMM_A_PANEL(p.kc2), 64);
  p.cols = g->packing && p.rows <= GEMM_LAYERS_MC ? GEMM_GROUP : GEMM_GROUP / 2;
  p.acc_ld = (mlp ? GEMM_GROUP : 2 * p.cols) + 16;
  p.hid_ld = p.hc + 16;
  p.y_ld = gemm_ceil(g->N, GEMM_NR) + 16;
  p.b_bytes = g->packing ? 0 : gemm_ceil(GEMM_GROUP / GEMM_NR * GEMM_B_PANEL(p.kc > p.kc2 ? p.kc : p.kc2), 4096);
  p.acc_bytes = ridge_apart(high * p.acc_ld * s);
  p.b_at = 0;
  p.acc_at = nthreads * p.b_bytes;
  p.a1_at = gemm_ceil(p.acc_at + nthreads * p.acc_bytes, 4096);
  p.a2_at = gemm_ceil(p.a1_at + (g->K + p.kc - 1) / p.kc * p.a1 + 64, 4096);
  p.hid_at = gemm_ceil(p.a2_at + (!mlp ? 0 : (p.hc + p.kc2 - 1) / p.kc2 * p.a2) + 64, 4096);
  p.y_at = gemm_ceil(p.hid_at + (mlp ? high * p.hid_ld * s : 0), 4096);
  p.total = p.y_at + (mlp ? high * p.y_ld * s : 0);
  return p;
}

#if GEMM_TILES
#include "gemm_layers_tiles.h"
#else
#define GEMM_LAYERS_STRIPS(g) 0
#endif

RIDGE_INLINE int64_t GEMM_F(layers_bytes)(const ridge_gemm_args *g, int64_t nthreads) {
#if GEMM_TILES
  if (GEMM_LAYERS_STRIPS(g)) return GEMM_F(strips_bytes)(g, nthreads);
#endif
  return GEMM_F(make_layers_plan)(g, nthreads).total;
}

// The team packs rows x k elements by tiles and blocks of K: of X (src), or of the hidden block (hid, where src is NULL).
GEMM_INLINE void GEMM_F(pack_block)(const GEMM_TA *src, const GEMM_HID *hid, int64_t ld, int64_t rows, int64_t k, int64_t kc, char *dst,
                                    int64_t bytes, const ridge_ctx *ctx) {
  const int64_t tiles = (rows + GEMM_MR - 1) / GEMM_MR, blocks = (k + kc - 1) / kc;
  int64_t from, to;
  ridge_share(blocks * tiles, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    int m;
    const int64_t pc = u / tiles * kc, t = u % tiles, i = GEMM_F(tile_at)(rows, t, &m), n = gemm_min(kc, k - pc);
    char *at = dst + u / tiles * bytes + t * GEMM_A_PANEL(gemm_ceil(n, GEMM_KU));
#if GEMM_PK > 1
    GEMM_F(pack_a)(at, (src ? src : hid) + i * ld + pc, ld, m, n);
#else
    if (src) {
      GEMM_F(pack_a)(at, src + i * ld + pc, ld, m, n);
      continue;
    }
#if GEMM_EXACT
    GEMM_F(turn32)((uint32_t *)at, hid + i * ld + pc, ld * 4, m, n);
#else
    GEMM_F(transpose32)((uint32_t *)at, hid + i * ld + pc, ld * 4, GEMM_MR, m, n);
#endif
#endif
  }
}

// Weights [n,k] of one product: where they lie, or a packed copy by blocks of K.
typedef struct GEMM_F(weights) {
  const GEMM_TB *b;
  const char *copy; // NULL: none
  int64_t ld, n, k, block;
  int32_t runs; // ridge_ctx
} GEMM_F(weights);

// Those of the first and the second product (SwiGLU: gate and up).
RIDGE_INLINE GEMM_F(weights) GEMM_F(weights_of)(const ridge_gemm_args *g, const GEMM_F(layers_plan) *p, int32_t runs, int second) {
  const int mlp = g->layers == RIDGE_LAYERS_MLP;
  GEMM_F(weights) w = {g->B, g->packing ? g->packed : NULL, g->ldb, mlp ? g->H : g->N, g->K, p->kc, runs};
  if (!second) return w;
  const int64_t last = (w.k - 1) / w.block * w.block; // the last block of the first
  if (w.copy) w.copy = GEMM_F(copied)(w.copy, w.n, w.k, w.block, last, gemm_ceil(w.n, GEMM_NR));
  w.b = g->B2, w.ld = g->ldb2, w.n = g->N;
  if (mlp) w.k = g->H, w.block = p->kc2;
  return w;
}

RIDGE_INLINE int64_t GEMM_F(layers_packed)(const ridge_gemm_args *g, int32_t nthreads) {
#if GEMM_TILES
  if (GEMM_LAYERS_STRIPS(g)) return GEMM_F(strips_packed)(g, nthreads);
#endif
  ridge_gemm_args from = *g;
  from.packing = 1, from.packed = (void *)64; // as an address to count from: it is not read
  const GEMM_F(layers_plan) p = GEMM_F(make_layers_plan)(&from, nthreads);
  const GEMM_F(weights) w = GEMM_F(weights_of)(&from, &p, 0, 1);
  return GEMM_F(copied)(w.copy, w.n, w.k, w.block, (w.k - 1) / w.block * w.block, gemm_ceil(w.n, GEMM_NR)) - (char *)from.packed;
}

GEMM_NOINLINE int GEMM_F(layers_pack)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
#if GEMM_TILES
  if (GEMM_LAYERS_STRIPS(g)) return GEMM_F(strips_pack)(g, ctx);
#endif
  const GEMM_F(layers_plan) p = GEMM_F(make_layers_plan)(g, ctx->nthreads);
  for (int second = 0; second < 2; second++) {
    const GEMM_F(weights) w = GEMM_F(weights_of)(g, &p, 0, second);
    int64_t from, to;
    ridge_share(w.n, GEMM_NR, ctx->tid, ctx->nthreads, &from, &to);
    for (int64_t pc = 0; pc < w.k && from < to; pc += w.block)
      GEMM_F(pack_b)(GEMM_F(copied)(w.copy, w.n, w.k, w.block, pc, from), w.b + from * w.ld + pc, w.ld, 1, to - from, gemm_min(w.block, w.k - pc));
  }
  return RIDGE_OK;
}

// What a call of sum_columns has of its weights: rows from j on, columns from pc on.
typedef struct GEMM_F(piece) {
  const GEMM_F(weights) *w; // NULL: nothing
  int64_t j, pc;
} GEMM_F(piece);

// Asks for kc columns of a piece's rows.
GEMM_INLINE gemm_ahead GEMM_F(piece_ahead)(const GEMM_F(piece) *at, int64_t cols, int64_t kc, int64_t steps) {
  const GEMM_F(weights) *w = at->w;
  if (!w->copy) return gemm_ahead_of(w->b + at->j * w->ld + at->pc, w->ld * (int64_t)sizeof(GEMM_TB), cols, kc * (int64_t)sizeof(GEMM_TB), steps);
  const int64_t panels = (cols + GEMM_NR - 1) / GEMM_NR;
  return gemm_ahead_of(GEMM_F(copied)(w->copy, w->n, w->k, w->block, at->pc, at->j), 0, 1, panels * GEMM_B_PANEL(gemm_ceil(kc, GEMM_KU)), steps);
}

// acc[rows x cols] = (add ? acc : 0) + A * weights^T, of k columns from at->pc on: A packed by blocks of so many bytes, or (GEMM_LYING) where it lies, its rows a_down bytes apart;
// the weights read and packed here, or read of their copy; whole tiles are written. next: what is read after this, as many rows, asked for ahead. end: what becomes of the sums is told by it, as of those of
// a product with C there, from its element (i0, j0) on; NULL: they are left in acc.
GEMM_NOINLINE void GEMM_F(sum_columns)(const ridge_gemm_args *g, int64_t rows, int64_t k, const char *a, int64_t bytes, int64_t a_down, GEMM_F(piece) at, int64_t cols,
                                       char *b_pack, GEMM_S *acc, int64_t acc_ld, int add, GEMM_F(piece) next, const ridge_gemm_args *end, int64_t i0, int64_t j0) {
  const GEMM_F(weights) *w = at.w;
  GEMM_F(block) q;
  memset(&q, 0, sizeof q);
  q.rows = rows, q.cols = cols, q.b = b_pack, q.acc = acc, q.acc_ld = acc_ld, q.padded = 1, q.a_down = a_down;
  const int64_t steps = (rows + GEMM_MR - 1) / GEMM_MR * ((cols + GEMM_NR - 1) / GEMM_NR), stop = at.pc + k;
  q.i0 = i0, q.j0 = j0;
  q.first = !add;
  for (; at.pc < stop; a += bytes, q.first = 0) {
    const int64_t kc = gemm_min(w->block, stop - at.pc);
    q.kc = gemm_ceil(kc, GEMM_KU);
    q.a_panel = GEMM_A_PANEL(q.kc), q.b_panel = GEMM_B_PANEL(q.kc);
    q.a = a;
    if (w->copy) q.b = GEMM_F(copied)(w->copy, w->n, w->k, w->block, at.pc, at.j);
    else GEMM_F(pack_b)(b_pack, w->b + at.j * w->ld + at.pc, w->ld, 1, cols, kc);
    at.pc += kc;
    q.last = end && at.pc >= stop;
    const GEMM_F(piece) then = at.pc < stop ? at : next;
    const int64_t size = gemm_min(w->block, at.pc < stop ? stop - at.pc : k);
    q.ahead.left = 0;
#if GEMM_EXACT
    if (w->copy) { // as run_own has it
      GEMM_F(beside) s;
      memset(&s, 0, sizeof s);
      const int64_t panels = (cols + GEMM_NR - 1) / GEMM_NR, both = g->layers == RIDGE_LAYERS_MLP ? (g->K + g->N) * g->H : 2 * g->N * g->K;
      if (then.w)
        GEMM_F(beside_given)(&s, w->runs, g->M, both, GEMM_F(copied)(then.w->copy, then.w->n, then.w->k, then.w->block, then.pc, then.j),
                             panels * GEMM_B_PANEL(gemm_ceil(size, GEMM_KU)), rows, panels);
      GEMM_F(own_block)(end ? end : g, &q, NULL, 0, 0, &s);
      continue;
    }
#endif
    if (then.w) q.ahead = GEMM_F(piece_ahead)(&then, cols, size, steps);
#if GEMM_LYING
    GEMM_F(beside) nothing;
    memset(&nothing, 0, sizeof nothing);
    GEMM_F(own_block)(end ? end : g, &q, NULL, 0, 0, &nothing);
#else
    GEMM_F(macro)(end ? end : g, &q);
#endif
  }
}

// Y[rows x n] at c = silu(gate) o up.
GEMM_NOINLINE void GEMM_F(gated)(GEMM_TC *c, int64_t ldc, int64_t rows, int64_t n, const GEMM_S *gate, const GEMM_S *up, int64_t ld) {
  enum { L = GEMM_LANES };
  typedef GEMM_F(vecu) VU;
  for (int64_t i = 0; i < rows; i++, c += ldc, gate += ld, up += ld) {
    int64_t j = 0;
    for (; j + 4 * L <= n; j += 4 * L) {
      GEMM_F(vec) s[4];
      RIDGE_UNROLL_FULL for (int u = 0; u < 4; u++) s[u] = *(const VU *)(gate + j + u * L);
      GEMM_F(silu)(s, 4);
      RIDGE_UNROLL_FULL for (int u = 0; u < 4; u++) {
        s[u] *= *(const VU *)(up + j + u * L);
        GEMM_STOREV(c + j + u * L, s[u]);
      }
    }
    for (; j < n; j += L) { // sums are there for whole vectors
      GEMM_F(vec) s = *(const VU *)(gate + j);
      GEMM_F(silu)(&s, 1);
      s *= *(const VU *)(up + j);
      if (j + L <= n) GEMM_STOREV(c + j, s);
      else
        for (int64_t l = 0; j + l < n; l++) c[j + l] = GEMM_STORES(s[l]);
    }
  }
}

// hid[rows x n] = act(sums + bias); reads and writes whole vectors.
GEMM_NOINLINE void GEMM_F(hidden)(GEMM_HID *hid, int64_t ldh, int64_t rows, int64_t n, const GEMM_S *sums, int64_t ld, const GEMM_TC *bias,
                                  int act) {
  enum { L = GEMM_LANES };
  typedef GEMM_F(vec) V;
  typedef GEMM_F(vecu) VU;
  for (int64_t j = 0; j < n; j += L) {
    V b = {0};
    if (j + L <= n) b = GEMM_LOADV(bias + j);
    else
      for (int64_t l = 0; j + l < n; l++) b[l] = GEMM_LOADS(bias[j + l]);
    for (int64_t i = 0; i < rows; i += 8) { // eight rows side by side
      V s[8];
      const int h = (int)gemm_min(8, rows - i);
      for (int q = 0; q < h; q++) s[q] = *(const VU *)(sums + (i + q) * ld + j) + b;
      if (act == RIDGE_ACT_RELU)
        for (int q = 0; q < h; q++) GEMM_F(raise)(&s[q], 0);
      else if (act > RIDGE_ACT_RELU)
        GEMM_F(activate)(s, h, act);
      for (int q = 0; q < h; q++) GEMM_HID_STORE(hid + (i + q) * ldh + j, s[q]);
    }
  }
}

#ifdef GEMM_DOTS_MAX
// A few rows by gemm_dots.h: each thread has a copy of X and of a chunk of hidden features for itself; sums of chunks are added in the workspace.
GEMM_NOINLINE int GEMM_F(dots_layers)(const ridge_gemm_args *g, const ridge_ctx *ctx, const GEMM_F(layers_plan) *p) {
  char *ws = ctx->workspace, *own = ws + p->b_at + ctx->tid * p->b_bytes;
  GEMM_S sums[2][GEMM_DOTS_SUMS] __attribute__((aligned(64)));
  const GEMM_TB *b1 = g->B, *b2 = g->B2;
  const int64_t m = g->M, cols = GEMM_F(dots_cols)(m), ld = GEMM_F(dots_ld)(m);
  int64_t from, to;
  GEMM_F(dots) d = GEMM_F(pack_dots)(g->A, g->lda, 0, m, g->K, own);
  memset(sums, 0, sizeof sums); // whole vectors are read of them
  if (g->layers == RIDGE_LAYERS_SWIGLU) {
    ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &from, &to);
    GEMM_F(dots_reading)(&d, (to - from) * (g->ldb + g->ldb2) * (int64_t)sizeof(GEMM_TB), ctx);
    for (int64_t j = from, n; j < to; j += n) {
      n = gemm_min(cols, to - j);
      GEMM_F(dots_sum)(&d, b1 + j * g->ldb, g->ldb, n, to - j, sums[0], ld);
      GEMM_F(dots_sum)(&d, b2 + j * g->ldb2, g->ldb2, n, to - j, sums[1], ld);
      GEMM_F(gated)((GEMM_TC *)g->C + j, g->ldc, m, n, sums[0], sums[1], ld);
    }
    return RIDGE_OK;
  }
  GEMM_HID *hid = (GEMM_HID *)(ws + p->hid_at);
  GEMM_S *y = (GEMM_S *)(ws + p->y_at);
  ridge_gemm_args last = *g;
  last.alpha = 1, last.act = RIDGE_ACT_NONE, last.bias = g->bias2;
  GEMM_F(dots_reading)(&d, (g->H * g->ldb + g->N * g->ldb2) / ctx->nthreads * (int64_t)sizeof(GEMM_TB), ctx);
  for (int64_t h0 = 0; h0 < g->H; h0 += p->hc) {
    const int64_t hc = gemm_min(p->hc, g->H - h0);
    ridge_share(hc, 16, ctx->tid, ctx->nthreads, &from, &to);
    if (h0 > 0) ridge_barrier(ctx); // the hidden block is copied until here
    for (int64_t j = from, n; j < to; j += n) {
      n = gemm_min(cols, to - j);
      GEMM_F(dots_sum)(&d, b1 + (h0 + j) * g->ldb, g->ldb, n, to - j, sums[0], ld);
      GEMM_F(hidden)(hid + j, p->hid_ld, m, n, sums[0], ld, (const GEMM_TC *)g->bias + h0 + j, g->act);
    }
    ridge_barrier(ctx);
    GEMM_F(dots) h = GEMM_F(pack_dots)(hid, p->hid_ld, GEMM_PK == 1, m, hc, own + p->a1);
    h.ahead = d.ahead, h.beside = d.beside;
    ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &from, &to);
    for (int64_t j = from, n; j < to; j += n) {
      n = gemm_min(cols, to - j);
      GEMM_F(dots_sum)(&h, b2 + j * g->ldb2 + h0, g->ldb2, n, to - j, sums[0], ld);
      if (h0 + hc >= g->H)
        GEMM_F(finish)(&last, 0, j, m, n, sums[0], ld, h0 > 0 ? y + j : NULL, p->y_ld);
      else
        for (int64_t i = 0; i < m; i++)
          for (int64_t q = 0; q < n; q++) y[i * p->y_ld + j + q] = sums[0][i * ld + q] + (h0 > 0 ? y[i * p->y_ld + j + q] : 0);
    }
  }
  return RIDGE_OK;
}
#endif

GEMM_NOINLINE int GEMM_F(layers)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  if (g->M <= 0 || g->N <= 0) return RIDGE_OK;
#if GEMM_TILES
  if (GEMM_LAYERS_STRIPS(g)) return GEMM_F(run_strips)(g, ctx);
#endif
  const GEMM_F(layers_plan) p = GEMM_F(make_layers_plan)(g, ctx->nthreads);
  if (ctx->workspace_bytes < p.total) return RIDGE_E_WORKSPACE;
#ifdef GEMM_DOTS_MAX
  if (GEMM_LAYERS_DOTS(g)) return GEMM_F(dots_layers)(g, ctx, &p);
#endif
  char *ws = ctx->workspace, *b_pack = ws + p.b_at + ctx->tid * p.b_bytes;
#if GEMM_LYING
  const int64_t s = sizeof(GEMM_S);
#else
  char *a1 = ws + p.a1_at, *a2 = ws + p.a2_at;
#endif
  GEMM_S *acc = (GEMM_S *)(ws + p.acc_at + ctx->tid * p.acc_bytes), *y = (GEMM_S *)(ws + p.y_at);
  GEMM_HID *hid = (GEMM_HID *)(ws + p.hid_at);
  const GEMM_F(weights) w1 = GEMM_F(weights_of)(g, &p, ctx->runs, 0), w2 = GEMM_F(weights_of)(g, &p, ctx->runs, 1);
  const GEMM_F(piece) none = {NULL, 0, 0};
  ridge_gemm_args last = *g;
  last.alpha = 1, last.act = RIDGE_ACT_NONE, last.bias = g->bias2;
  ridge_gemm_args first = last; // whose C is the hidden block
  first.act = g->act, first.C = hid, first.ldc = p.hid_ld;
  GEMM_BEGIN
  int64_t c0, c1, from, to;
  ridge_share(g->N, GEMM_NR, ctx->tid, ctx->nthreads, &c0, &c1);
  for (int64_t i0 = 0; i0 < g->M; i0 += p.rows) {
    const int64_t rows = gemm_min(p.rows, g->M - i0);
    const GEMM_TA *x = (const GEMM_TA *)g->A + i0 * g->lda;
#if GEMM_LYING
    const char *a1 = (const char *)x, *a2 = (const char *)hid;
    const int64_t a1_bytes = p.kc * s, a1_down = g->lda * s, a2_bytes = p.kc2 * s, a2_down = p.hid_ld * s;
#else
    const int64_t a1_bytes = p.a1, a2_bytes = p.a2, a1_down = 0, a2_down = 0;
    if (i0 > 0) ridge_barrier(ctx); // packed rows are read until here
    GEMM_F(pack_block)(x, NULL, g->lda, rows, g->K, p.kc, a1, p.a1, ctx);
    ridge_barrier(ctx);
#endif
    if (g->layers == RIDGE_LAYERS_SWIGLU) {
      for (int64_t j = c0, n; j < c1; j += n) {
        n = gemm_min(p.cols, c1 - j);
        const GEMM_F(piece) gate = {&w1, j, 0}, up = {&w2, j, 0}, more = {&w1, j + n, 0};
        GEMM_F(sum_columns)(g, rows, g->K, a1, a1_bytes, a1_down, gate, n, b_pack, acc, p.acc_ld, 0, up, NULL, 0, 0);
        GEMM_F(sum_columns)(g, rows, g->K, a1, a1_bytes, a1_down, up, n, b_pack, acc + p.cols, p.acc_ld, 0, j + n + p.cols <= c1 ? more : none, NULL, 0, 0);
        GEMM_F(gated)((GEMM_TC *)g->C + i0 * g->ldc + j, g->ldc, rows, n, acc, acc + p.cols, p.acc_ld);
      }
      continue;
    }
    for (int64_t h0 = 0; h0 < g->H; h0 += p.hc) {
      const int64_t hc = gemm_min(p.hc, g->H - h0);
      first.bias = (const GEMM_TC *)g->bias + h0;
#if GEMM_LYING
      if (i0 > 0 || h0 > 0) ridge_barrier(ctx); // the hidden block is read until here
#endif
      ridge_share(hc, GEMM_NR, ctx->tid, ctx->nthreads, &from, &to);
      for (int64_t h = from, n; h < to; h += n) {
        n = gemm_min(GEMM_GROUP, to - h);
        const GEMM_F(piece) here = {&w1, h0 + h, 0}, more = {&w1, h0 + h + n, 0};
        GEMM_F(sum_columns)(g, rows, g->K, a1, a1_bytes, a1_down, here, n, b_pack, acc, p.acc_ld, 0, h + 2 * n <= to ? more : none, GEMM_LAYERS_ENDS ? &first : NULL, 0, h);
        if (!GEMM_LAYERS_ENDS) GEMM_F(hidden)(hid + h, p.hid_ld, rows, n, acc, p.acc_ld, (const GEMM_TC *)g->bias + h0 + h, g->act);
      }
      ridge_barrier(ctx);
#if !GEMM_LYING
      GEMM_F(pack_block)(NULL, hid, p.hid_ld, rows, hc, p.kc2, a2, p.a2, ctx);
      ridge_barrier(ctx);
#endif
      for (int64_t j = c0, n; j < c1; j += n) {
        n = gemm_min(GEMM_GROUP, c1 - j);
        const GEMM_F(piece) here = {&w2, j, h0}, more = {&w2, j + n, h0};
        GEMM_F(sum_columns)(g, rows, hc, a2, a2_bytes, a2_down, here, n, b_pack, y + j, p.y_ld, h0 > 0, j + 2 * n <= c1 ? more : none, h0 + hc >= g->H ? &last : NULL, i0, j);
      }
    }
  }
  GEMM_END
  return RIDGE_OK;
}
#undef GEMM_LAYERS_DOTS
#undef GEMM_LAYERS_STRIPS
#undef GEMM_LAYERS_DOTS_H
#undef GEMM_LAYERS_DOTS_HID
#undef GEMM_LAYERS_BLOCKS
#undef GEMM_LAYERS_MC
#undef GEMM_HID
#undef GEMM_HID_STORE
#undef GEMM_LAYERS_ENDS
#undef GEMM_LAYERS_HIDDEN
