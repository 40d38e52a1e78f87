// The loops around a register tile (template): GotoBLAS/BLIS order (Goto and van de Geijn
// 2008; Van Zee and van de Geijn 2015).
//
//   for jc in N by NC, for pc in K by KC:
//     the team packs B[pc:pc+KC, jc:jc+NC] into panels of NR columns (L3), barrier
//     each thread of a tm x tn grid, for its rows ic by MC:
//       packs A[ic:ic+MC, pc:pc+KC] into panels of MR rows (its L2)
//       for its panels jr of B (KC x NR in L1), for panels ir of A: the MR x NR tile
//
// B is double-buffered: a thread may pack the next block while others still read this one,
// so one barrier per block is enough. Sums of K blocks accumulate in C itself when C has
// the accumulator's type, else in a workspace copy, so that rounding happens once. C must
// not overlap A, B, D or the residual.
//
// Macros: GEMM_NAME, GEMM_TARGET, GEMM_TA, GEMM_TB, GEMM_TC, GEMM_S, GEMM_MR, GEMM_NR,
// GEMM_KU (K is padded with zeros to a multiple of it), GEMM_MC, GEMM_KC, GEMM_NC,
// GEMM_A_PANEL(kc) and GEMM_B_PANEL(kc) bytes of one packed panel (multiples of 64),
// GEMM_C_IS_S 1 when C accumulates in place, GEMM_BEGIN/GEMM_END around the work of a thread.
// Functions: GEMM_F(pack_a)(dst, a, lda, rows, kc) one panel; GEMM_F(pack_b)(dst, b, ldb,
// trans, cols, kc) consecutive panels; GEMM_F(tile)(kc, a, b, c, ldc, add, end) the register tile,
// c row-major; GEMM_F(end), GEMM_F(finish), GEMM_F(plain) of gemm_epilogue.h.

#ifndef GEMM_TILES
#define GEMM_TILES 0
#endif
#if !GEMM_EXACT
typedef void GEMM_F(source); // only exact tiles read B in memory
#endif

#ifndef GEMM_BEGIN
#define GEMM_BEGIN
#define GEMM_END
#endif

// Block sizes and the workspace's layout for one problem.
typedef struct GEMM_F(plan) {
  int64_t mc, kc, nc;       // block sizes, multiples of MR, KU, NR
  int64_t a_panel, b_panel; // bytes of one packed panel
  int64_t a_bytes, b_bytes; // one thread's A block, one B block
  int64_t acc_ld;           // row pitch of the accumulator copy, 0 without
  int64_t a_at, acc_at, total;
  int64_t acc_bytes;        // OWN and FEW: of one thread
  int way;
  int64_t rows; // OWN and FEW: rows of A packed at a time
  int few, kept, far; // STRIPS: all of A is packed once; packed B is kept; it does not stay in L2
} GEMM_F(plan);

// Columns of C that a thread packs at a time when the rows are few.
#define GEMM_GROUP (4 * GEMM_NR)

// Tile t of `rows` rows: where it begins and how many rows it has. With tiles of every height all are about
// equal, else the last is short.
RIDGE_INLINE int64_t GEMM_F(even_at)(int64_t rows, int64_t t, int *m) {
  const int64_t tiles = (rows + GEMM_MR - 1) / GEMM_MR, base = rows / tiles, more = rows % tiles;
  *m = (int)(base + (t < more));
  return t * base + gemm_min(t, more);
}
RIDGE_INLINE int64_t GEMM_F(tile_at)(int64_t rows, int64_t t, int *m) {
  if (GEMM_EXACT) return GEMM_F(even_at)(rows, t, m);
  *m = (int)gemm_min(GEMM_MR, rows - t * GEMM_MR);
  return t * GEMM_MR;
}

// Whether tiles have just the rows that there are; those of NEON have every height only where B comes packed.
#ifdef GEMM_HEIGHTS
#define GEMM_EXACTLY(given) (given)
#else
#define GEMM_EXACTLY(given) GEMM_EXACT
#endif

// The ways through. Exact tiles go by gemm_own.h, but for B stored [N,K] and many rows: it is turned once, for all of them; and from so many
// rows on that packing B once, with a barrier, costs less than beside the tiles of every MC rows. The multiply-adds of a dot product
// take an element's share of the time, so packing weighs as much more.
// Tiles of 6 rows do so much less for a row of B that it counts earlier: on Zen 3, one thread, the shared way has 1.00 to 1.01 of the other's rate from 384 to
// 1000 rows of fp32, 1.03 to 1.11 in fp64, 0.98 at 192 and 0.92 at 144 rows of fp32, 1.08 in fp64 there.
#if defined(GEMM_COVE)
// Granite Rapids, one thread, of the own way's rate: B of 4 MiB 512 rows 0.99, 768 rows 1.01; B of 16 MiB 256 rows 0.97, 512 rows 1.03, 1008 rows 1.04.
// Tiles that read A where it lies have nothing of it to pack for each group (Ice Lake, MC 1024, 1024^3 1.03, 2048^3 1.01, 1024x4096x512 1.04).
#define GEMM_OWN_ROWS(g) (GEMM_LYING ? INT64_MAX : (g)->K * (g)->N * (int64_t)sizeof(GEMM_S) > 8 << 20 ? 384 : 704)
#else
#define GEMM_OWN_ROWS(g) (GEMM_MR == 6 ? 1152 / (int64_t)sizeof(GEMM_S) : 1024 * GEMM_PK)
#endif
// Where B comes packed and rows are few, longer blocks of K: a tile has less to do between its ends, and one panel is read after another. Zen 4,
// N = K = 4096, two threads, against blocks of 1024: int8 4 rows 1.07 to 1.37, 8 rows 1.13, 16 rows 1.08 to 1.12, 64 rows the same; bf16 4 rows
// 1.09, but 16 rows 0.94, for what is asked for ahead then leaves L2.
#if GEMM_EXACT && GEMM_PK > 1
#define GEMM_LONG_ROWS (GEMM_PK == 4 ? 64 : 4)
#define GEMM_LONG_KC 4096
#else
#define GEMM_LONG_ROWS 0
#define GEMM_LONG_KC GEMM_KC
#endif
// K up to which many rows have one block of it, where sums of several would go through the workspace.
#ifndef GEMM_WHOLE_KC
#define GEMM_WHOLE_KC 0
#endif
enum { GEMM_F(GOTO), GEMM_F(FEW), GEMM_F(OWN), GEMM_F(DOTS), GEMM_F(STRIPS), GEMM_F(NARROW), GEMM_F(TALL) };
RIDGE_INLINE int GEMM_F(way)(const ridge_gemm_args *g, int64_t mc, int64_t nthreads) {
  if (g->K <= 0) return GEMM_F(GOTO);
#if GEMM_TILES
  return GEMM_F(STRIPS);
#endif
#ifdef GEMM_NARROW
  if (GEMM_F(is_narrow)(g)) return GEMM_F(NARROW);
#endif
#ifdef GEMM_TALL
  if (GEMM_F(is_tall)(g)) return GEMM_F(TALL);
#endif
  if (g->packing) return !GEMM_EXACT ? GEMM_F(FEW) : g->M < GEMM_OWN_ROWS(g) ? GEMM_F(OWN) : GEMM_F(GOTO);
#ifdef GEMM_DOTS_MAX
  if (g->trans_b && g->M <= GEMM_DOTS_MAX && !GEMM_DOTS_SHORT(g)) return GEMM_F(DOTS);
#endif
  if (GEMM_EXACT && (g->trans_b ? g->M <= 2 * mc : g->M < GEMM_OWN_ROWS(g))) return GEMM_F(OWN);
  return !GEMM_EXACT && g->M <= 2 * mc && (g->N + GEMM_NR - 1) / GEMM_NR >= nthreads ? GEMM_F(FEW) : GEMM_F(GOTO);
}

#if GEMM_TILES
RIDGE_INLINE void GEMM_F(plan_tiles)(GEMM_F(plan) *p, const ridge_gemm_args *g, int64_t nthreads);
#endif

#ifdef GEMM_IS_THIN
RIDGE_INLINE int GEMM_F(is_panels)(const ridge_gemm_args *g); // gemm_panels.h
RIDGE_INLINE int64_t GEMM_F(panels_bytes)(const ridge_gemm_args *g);
#else
RIDGE_INLINE int GEMM_F(is_panels)(const ridge_gemm_args *g) { return (void)g, 0; }
#endif

RIDGE_INLINE GEMM_F(plan) GEMM_F(make_plan)(const ridge_gemm_args *g, int32_t nthreads) {
  GEMM_F(plan) p;
  const int64_t mc = g->mc > 0 ? g->mc : GEMM_MC;
  p.mc = gemm_block(g->M, mc, GEMM_MR);
  const int64_t own = g->packing && GEMM_F(is_panels)(g)         ? g->K
                      : g->packing && g->M <= GEMM_LONG_ROWS         ? GEMM_LONG_KC
                      : g->K <= GEMM_WHOLE_KC && g->M > GEMM_MC ? GEMM_WHOLE_KC
                                                                     : GEMM_KC;
  p.kc = gemm_block(g->K, g->kc > 0 ? g->kc : own, GEMM_KU);
  p.nc = gemm_block(g->N, g->nc > 0 ? g->nc : GEMM_NC, GEMM_NR);
  p.a_panel = GEMM_A_PANEL(p.kc);
  p.b_panel = GEMM_B_PANEL(p.kc);
  p.way = GEMM_F(way)(g, mc, nthreads);
#if GEMM_TILES
  if (p.way == GEMM_F(STRIPS)) {
    GEMM_F(plan_tiles)(&p, g, nthreads);
    return p;
  }
#endif
#ifdef GEMM_DOTS_MAX
  if (p.way == GEMM_F(DOTS)) {
    p.total = nthreads * GEMM_F(dots_bytes)(g->M, g->K);
    return p;
  }
#endif
#ifdef GEMM_TALL
  if (p.way == GEMM_F(TALL)) {
    p.total = nthreads * GEMM_F(tall_bytes)(g);
    return p;
  }
#endif
#ifdef GEMM_NARROW
  if (p.way == GEMM_F(NARROW)) {
    p.total = nthreads * GEMM_F(narrow_bytes)(g);
    return p;
  }
#endif
  if (p.way == GEMM_F(OWN)) {
    // For each thread a group of B, MC rows of A in all of K, and their sums.
    const int64_t blocks = (g->K + p.kc - 1) / p.kc;
    p.rows = gemm_min(g->M, g->trans_b ? 2 * mc : mc);
    p.b_bytes = gemm_ceil((g->trans_b ? 1 : 2) * GEMM_GROUP / GEMM_NR * p.b_panel, 4096);
    p.a_bytes = GEMM_LYING ? 0 : gemm_ceil((p.rows + GEMM_MR - 1) / GEMM_MR * blocks * p.a_panel + 64, 4096);
    p.acc_ld = GEMM_F(in_c)(g) || g->K <= p.kc ? 0 : GEMM_GROUP + 16;
    p.a_at = nthreads * p.b_bytes;
    p.acc_at = p.a_at + nthreads * p.a_bytes;
    p.acc_bytes = ridge_apart(p.rows * p.acc_ld * (int64_t)sizeof(GEMM_S));
    p.total = p.acc_at + nthreads * p.acc_bytes;
    return p;
  }
  if (p.way == GEMM_F(FEW)) {
    // All of A (of MC rows by two, where B comes packed), block after block of K; for each thread a group of B and its sums.
    p.rows = gemm_block(g->M, 2 * mc, GEMM_MR);
    p.a_bytes = p.rows / GEMM_MR * p.a_panel;
    p.b_bytes = g->packing ? 0 : gemm_ceil(GEMM_GROUP / GEMM_NR * p.b_panel, 4096);
    p.acc_ld = GEMM_F(in_c)(g) || g->K <= p.kc ? 0 : GEMM_GROUP + 16;
    p.a_at = nthreads * p.b_bytes;
    p.acc_at = gemm_ceil(p.a_at + (g->K + p.kc - 1) / p.kc * p.a_bytes + 64, 4096);
    p.acc_bytes = ridge_apart(p.rows * p.acc_ld * (int64_t)sizeof(GEMM_S));
    p.total = p.acc_at + nthreads * p.acc_bytes;
    return p;
  }
  p.a_bytes = GEMM_LYING ? 0 : gemm_ceil(p.mc / GEMM_MR * p.a_panel + 64, 4096);
  p.b_bytes = g->packing ? 0 : gemm_ceil(p.nc / GEMM_NR * p.b_panel, 4096);
  p.a_at = 2 * p.b_bytes;
  p.acc_at = p.a_at + nthreads * p.a_bytes;
  p.acc_ld = GEMM_F(in_c)(g) || g->K <= p.kc ? 0 : p.nc + 16;
  p.total = p.acc_at + gemm_ceil(g->M, GEMM_MR) * p.acc_ld * (int64_t)sizeof(GEMM_S);
  return p;
}

#ifdef GEMM_LAYERS
RIDGE_INLINE int64_t GEMM_F(layers_bytes)(const ridge_gemm_args *g, int64_t nthreads);
#endif
#ifdef GEMM_IS_THIN // gemm_small_way.h
RIDGE_INLINE const ridge_gemm_args *GEMM_F(upright)(const ridge_gemm_args *g, ridge_gemm_args *room);
RIDGE_INLINE int GEMM_F(is_small)(const ridge_gemm_args *g, int nthreads);
RIDGE_INLINE int64_t GEMM_F(small_bytes)(const ridge_gemm_args *g);
#endif

// Operands of a product up to which a thread takes whole products of a batch; more are only held by the team's caches together.
#define GEMM_BATCH_BYTES (4 << 20)

// Bytes of workspace of each thread where each takes whole products of a batch, else 0. No thread waits for another then, and the rows of C
// are those that the same thread has in the row-wise steps before and after. Where two CPUs of Zen 3 have a last-level cache each, moving
// half of the scores of 4 x 256 x 256 in bf16 to the other made the chain of attention 1.4 times as long.
RIDGE_INLINE int64_t GEMM_F(batch_slice)(const ridge_gemm_args *g, int32_t nthreads) {
  const int64_t bytes = g->M * g->K * (int64_t)sizeof(GEMM_TA) + g->K * g->N * (int64_t)sizeof(GEMM_TB) + g->M * g->N * (int64_t)sizeof(GEMM_TC);
  if (nthreads <= 1 || !gemm_whole(g->batch, nthreads) || bytes > GEMM_BATCH_BYTES) return 0;
#ifdef GEMM_IS_THIN
  if (GEMM_IS_THIN(g)) return gemm_ceil(GEMM_F(thin_bytes)(g, 1), 4096);
#endif
  return gemm_ceil(GEMM_F(make_plan)(g, 1).total, 4096);
}

// Where few rows meet a B so small that packing all of it is little work beside a thread's tiles, each thread has rows of C to itself and
// packs for itself: it meets nobody, and a row-wise step before or after finds its rows with the same thread. Bytes of
// workspace of each thread then, else 0.
#define GEMM_APART_ROWS 64
#define GEMM_APART_B (64 << 10) // bytes of packed B
RIDGE_INLINE int64_t GEMM_F(apart_slice)(const ridge_gemm_args *g, int32_t nthreads) {
  const int64_t mc = g->mc > 0 ? g->mc : GEMM_MC;
#ifdef GEMM_DOTS_MAX
  // Rows where columns, shared by 16, would leave a thread idle or with much more than another.
  if (nthreads > 1 && g->trans_b && g->M >= 4 * (int64_t)nthreads && g->N < 128 * (int64_t)nthreads && GEMM_F(way)(g, mc, nthreads) == GEMM_F(DOTS))
    return gemm_ceil(GEMM_F(dots_bytes)(g->M / nthreads + 1, g->K), 4096);
#endif
  if (nthreads <= 1 || g->packing || GEMM_F(way)(g, mc, nthreads) != GEMM_F(FEW) || g->M < GEMM_APART_ROWS * (int64_t)nthreads ||
      g->N * g->K * (int64_t)sizeof(GEMM_S) > GEMM_APART_B)
    return 0;
  ridge_gemm_args part = *g;
  part.M = g->M / nthreads + GEMM_MR; // at least the largest share
  return gemm_ceil(GEMM_F(make_plan)(&part, 1).total, 4096);
}

int64_t GEMM_F(ridge_ws)(const void *args, int32_t nthreads) {
  const ridge_gemm_args *g = args;
#ifdef GEMM_LAYERS
  if (g->layers) return GEMM_F(layers_bytes)(args, nthreads);
#endif
#ifdef GEMM_IS_THIN
  ridge_gemm_args room;
  g = GEMM_F(upright)(g, &room);
  if (GEMM_F(is_panels)(g)) return nthreads * GEMM_F(panels_bytes)(g);
  if (GEMM_F(is_small)(g, nthreads)) return nthreads * GEMM_F(small_bytes)(g);
#endif
  int64_t slice = g->batch > 1 ? GEMM_F(batch_slice)(g, nthreads) : 0;
  if (slice == 0) slice = GEMM_F(apart_slice)(g, nthreads);
  if (slice > 0) return slice * nthreads;
#ifdef GEMM_IS_THIN
  if (GEMM_IS_THIN(g)) return GEMM_F(thin_bytes)(g, nthreads);
#endif
  return GEMM_F(make_plan)(g, nthreads).total;
}

// One thread's tiles of one K block: its panels of A against its panels of B.
typedef struct GEMM_F(block) {
  int64_t i0, rows; // rows of C
  int64_t j0, cols; // columns of C
  int64_t kc;
  const char *a;       // first packed panels, or GEMM_LYING: where A lies, its rows a_down bytes apart
  char *b;
  int64_t a_panel, b_panel, a_down;
  GEMM_S *acc;         // where sums of K blocks live: element (i0, j0)
  int64_t acc_ld;
  int first, last, plain, padded; // padded: acc has room for whole tiles
  int given;                      // B comes packed beforehand
  int far;                        // C is not in this core's caches
  gemm_ahead ahead;               // what is packed next
} GEMM_F(block);

// Which rows of the block a tile has: from ir on, m, at a. t: which tile it is.
typedef struct GEMM_F(place) {
  int64_t t, ir;
  const char *a;
  int m;
} GEMM_F(place);

RIDGE_INLINE GEMM_F(place) GEMM_F(place_of)(const GEMM_F(block) *k, int64_t t) {
  GEMM_F(place) p = {t, 0, NULL, 0};
  p.ir = GEMM_EXACTLY(k->given) ? GEMM_F(even_at)(k->rows, t, &p.m) : GEMM_F(tile_at)(k->rows, t, &p.m);
  p.a = k->a + (GEMM_LYING ? p.ir * k->a_down : t * k->a_panel);
  return p;
}

#if GEMM_LYING
// sums[m x n], pitch GEMM_NR, of rows of A where they lie and a panel of which n columns count (gemm_panels.h).
GEMM_INLINE void GEMM_F(tail_tile)(int m, int n, int64_t kc, const char *a, int64_t lda, const char *b, GEMM_S *sums);
#endif

// The block's rows of A from column pc on, where they lie.
RIDGE_INLINE void GEMM_F(lying)(const ridge_gemm_args *g, GEMM_F(block) *k, int64_t pc) {
  k->a = (const char *)((const GEMM_TA *)g->A + k->i0 * g->lda + pc);
  k->a_down = g->lda * (int64_t)sizeof(GEMM_TA);
}

// A tile of the block's rows times the panel at column jr. fresh: the tile is the panel's first and packs it from where its columns lie in
// memory, from; else what it does of B beside its multiply-adds, or NULL.
GEMM_INLINE void GEMM_F(one_tile)(const ridge_gemm_args *g, const GEMM_F(block) *k, const GEMM_F(place) *place, int64_t jr, int fresh,
                                  const GEMM_F(source) *from) {
  GEMM_S sums[GEMM_MR * GEMM_NR] __attribute__((aligned(64)));
  const int exact = GEMM_EXACTLY(k->given), m = place->m;
  const int64_t ir = place->ir;
  const int n = (int)gemm_min(GEMM_NR, k->cols - jr);
  const char *a = place->a;
  char *b = k->b + jr / GEMM_NR * k->b_panel;
  const int full = (exact || m == GEMM_MR) && n == GEMM_NR;
  GEMM_S *acc = k->acc ? k->acc + ir * k->acc_ld + jr : NULL;
#if GEMM_EXACT
  const GEMM_F(tile_fn) tile = GEMM_F(tiles)[fresh ? 1 : from && from->to ? 2 : 0][m];
#define GEMM_TILE(c, ldc, add, end) tile(k->kc, a, b, c, ldc, add, from, end)
#elif defined(GEMM_HEIGHTS)
  (void)fresh, (void)from;
  const GEMM_F(low_fn) tile = k->given ? GEMM_F(lows)[place->t == 0 && m > 2][m] : GEMM_F(tile);
#define GEMM_TILE(c, ldc, add, end) tile(k->kc, a, b, c, ldc, add, end)
#else
  (void)fresh, (void)from;
#define GEMM_TILE(c, ldc, add, end) GEMM_F(tile)(k->kc, a, b, c, ldc, add, end)
#endif
  if (k->last ? k->plain && full : k->padded || full) {
    GEMM_TILE(acc, k->acc_ld, !k->first, NULL);
    return;
  }
#ifndef GEMM_END_IN_MEMORY
  if (k->last && full) {
    const GEMM_F(end) end = GEMM_F(end_at)(g, k->i0 + ir, k->j0 + jr);
    GEMM_TILE(acc, k->acc_ld, !k->first, &end);
    return;
  }
#endif
#if GEMM_LYING
  if (n < GEMM_NR)
    GEMM_F(tail_tile)(m, n, k->kc, a, k->a_down / (int64_t)sizeof(GEMM_S), b, sums);
  else
#endif
    GEMM_TILE(sums, GEMM_NR, 0, NULL);
  if (k->last) {
    GEMM_F(finish)(g, k->i0 + ir, k->j0 + jr, m, n, sums, GEMM_NR, k->first ? NULL : acc, k->acc_ld);
    return;
  }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      acc[i * k->acc_ld + j] = sums[i * GEMM_NR + j] + (k->first ? 0 : acc[i * k->acc_ld + j]);
#undef GEMM_TILE
}

GEMM_NOINLINE void GEMM_F(macro)(const ridge_gemm_args *g, GEMM_F(block) *k) {
  const int64_t tiles = (k->rows + GEMM_MR - 1) / GEMM_MR;
  for (int64_t jr = 0; jr < k->cols; jr += GEMM_NR)
    for (int64_t t = 0; t < tiles; t++) {
      gemm_ahead_step(&k->ahead);
      const GEMM_F(place) place = GEMM_F(place_of)(k, t);
      GEMM_F(one_tile)(g, k, &place, jr, 0, NULL);
    }
}

#include "gemm_packed.h"
#if GEMM_EXACT
#include "gemm_own.h"
#elif GEMM_TILES
#include "gemm_tiles.h"
#else
#include "gemm_few.h"
#endif

GEMM_NOINLINE int GEMM_F(run)(const ridge_gemm_args *whole, const ridge_ctx *team) {
  ridge_gemm_args part = *whole;
  ridge_ctx own = *team;
  const ridge_gemm_args *g = &part;
  const ridge_ctx *ctx = &own;
  const int64_t slice = GEMM_F(apart_slice)(g, ctx->nthreads);
  if (slice > 0) {
    int64_t from, to;
    ridge_share(g->M, g->trans_b && GEMM_F(way)(g, 0, 1) == GEMM_F(DOTS) ? 1 : GEMM_MR, own.tid, own.nthreads, &from, &to);
    part.M = to - from;
    part.stride_a = g->lda, part.stride_b = 0, part.stride_c = g->ldc, part.stride_d = g->ldd;
    GEMM_F(advance)(&part, from); // as the product of rows from `from` on
    own.workspace = (char *)own.workspace + own.tid * slice;
    own.workspace_bytes -= own.tid * slice;
    own.tid = 0, own.nthreads = 1;
  }
  const GEMM_F(plan) p = GEMM_F(make_plan)(g, ctx->nthreads);
  if (g->M <= 0 || g->N <= 0) return RIDGE_OK;
  if (ctx->workspace_bytes < p.total) return RIDGE_E_WORKSPACE;
#ifdef GEMM_DOTS_MAX
  if (p.way == GEMM_F(DOTS)) return GEMM_F(run_dots)(g, ctx);
#endif
#ifdef GEMM_NARROW
  if (p.way == GEMM_F(NARROW)) return GEMM_F(run_narrow)(g, ctx);
#endif
#ifdef GEMM_TALL
  if (p.way == GEMM_F(TALL)) return GEMM_F(run_tall)(g, ctx);
#endif
#if GEMM_EXACT
  if (p.way == GEMM_F(OWN)) return GEMM_F(run_own)(g, ctx, &p);
#elif GEMM_TILES
  if (p.way == GEMM_F(STRIPS)) return GEMM_F(run_tiles)(g, ctx, &p);
#else
  if (p.way == GEMM_F(FEW)) return GEMM_F(run_few)(g, ctx, &p);
#endif
  char *ws = ctx->workspace, *a_pack = ws + p.a_at + ctx->tid * p.a_bytes;
  GEMM_F(block) k;
  memset(&k, 0, sizeof k);
  k.plain = GEMM_C_IS_S && GEMM_F(plain)(g);
  k.padded = !GEMM_F(in_c)(g);
  k.a = a_pack;
  int turn = 0;
  GEMM_BEGIN
  for (int64_t jc = 0; jc < g->N; jc += p.nc) {
    const int64_t nc = gemm_min(p.nc, g->N - jc), panels = (nc + GEMM_NR - 1) / GEMM_NR;
    int tm, tn;
    gemm_grid((g->M + GEMM_MR - 1) / GEMM_MR, panels, GEMM_MR, GEMM_NR, ctx->nthreads, &tm, &tn);
    int64_t r0 = 0, r1 = 0, c0 = 0, c1 = 0; // this thread's rows of C and columns of the block
    if (ctx->tid < tm * tn) {
      ridge_share(g->M, GEMM_EXACT ? 1 : GEMM_MR, ctx->tid / tn, tm, &r0, &r1);
      ridge_share(nc, GEMM_NR, ctx->tid % tn, tn, &c0, &c1);
    }
    for (int64_t pc = 0; pc == 0 || pc < g->K; pc += p.kc, turn ^= 1) {
      const int64_t kc = gemm_min(p.kc, g->K - pc);
      char *b_pack = ws + turn * p.b_bytes;
      k.kc = gemm_ceil(kc, GEMM_KU);
      k.a_panel = GEMM_A_PANEL(k.kc), k.b_panel = GEMM_B_PANEL(k.kc);
      int64_t from, to;
      ridge_share(g->packing ? 0 : nc, GEMM_NR, ctx->tid, ctx->nthreads, &from, &to);
      if (from < to)
        GEMM_F(pack_b)(b_pack + from / GEMM_NR * k.b_panel,
                       (const GEMM_TB *)g->B + (g->trans_b ? (jc + from) * g->ldb + pc : pc * g->ldb + jc + from),
                       g->ldb, g->trans_b, to - from, kc);
      if (!g->packing || p.acc_ld > 0) ridge_barrier(ctx); // nothing was packed, and sums that lie in C belong to one block of columns
      k.first = pc == 0, k.last = pc + kc >= g->K;
      k.b = g->packing ? GEMM_F(given)(g, &p, pc, jc + c0) : b_pack + c0 / GEMM_NR * k.b_panel;
      k.j0 = jc + c0, k.cols = c1 - c0;
      const int64_t step = gemm_block(r1 - r0, p.mc, GEMM_MR);
      for (int64_t ic = r0; ic < r1 && c0 < c1; ic += step) {
        k.i0 = ic, k.rows = gemm_min(step, r1 - ic);
        if (GEMM_LYING) GEMM_F(lying)(g, &k, pc);
        for (int64_t t = 0; !GEMM_LYING && t < (k.rows + GEMM_MR - 1) / GEMM_MR; t++) {
          int m;
          const int64_t i = GEMM_F(tile_at)(k.rows, t, &m);
          GEMM_F(pack_a)(a_pack + t * k.a_panel, (const GEMM_TA *)g->A + (ic + i) * g->lda + pc, g->lda, m, kc);
        }
        k.acc = NULL, k.acc_ld = 0;
        if (GEMM_F(in_c)(g)) {
          k.acc_ld = g->ldc, k.acc = (GEMM_S *)g->C + ic * g->ldc + k.j0;
        } else if (p.acc_ld) {
          k.acc_ld = p.acc_ld, k.acc = (GEMM_S *)(ws + p.acc_at) + ic * p.acc_ld + c0;
        }
#if GEMM_EXACT
        GEMM_F(own_groups)(g, ctx->runs, &k);
#else
        GEMM_F(macro)(g, &k);
#endif
      }
    }
  }
  GEMM_END
  return RIDGE_OK;
}
