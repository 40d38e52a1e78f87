// A where it lies against B in panels (template, after gemm_small_way.h): the tiles of small products read rows of A by broadcast and two packed panels side by
// side, in one block of K; rows come first and columns within them. Where B comes packed beforehand and stays in L2, and so few columns, so few rows or so
// short a K that packing A would be much of the work; and where K is short and C larger than GEMM_SLIM_B: C is written in long runs of a few rows, not in pieces of two vectors
// of 14 rows. There each thread packs B for itself, which its many rows pay.
//
// Emerald Rapids, one thread, of the rate of packed A: docs/kernels/gemm.md. Rows by 6, 12 and 24 at a time: C of 12 MB 1.47, 1.54, 1.50; 48 1.38.
// Asking for the next rows of A beside the tiles 0.92 to 1.0. Wider than 768 bytes at K from 48 on 1.0 to 1.04 where a core is alone, 0.95 beside another thread.
#if GEMM_SAME && GEMM_EXACT
#define GEMM_PANELS_ROWS 24 // of C at a time: whole tiles of any height
#if GEMM_VEC == 32 // Two panels side by side would leave two rows to a tile; and long runs of C gain nothing (1360x2048x16 0.92, fp64 0.98).
#define GEMM_PANELS_WIDE GEMM_NR
#define GEMM_PANELS_K 0
#define GEMM_PANELS_FEW 0
#define GEMM_PANELS_TILES(X) GEMM_SMALL_ONE(X, 1) GEMM_SMALL_TWO(X, 2)
#else
#define GEMM_PANELS_WIDE (GEMM_NV == 4 ? GEMM_NR : 2 * GEMM_NR)
#define GEMM_PANELS_K 32   // up to which C is much of the work, however many columns
#define GEMM_PANELS_FEW 32 // rows up to which B is
#define GEMM_PANELS_TILES(X) GEMM_SMALL_WHOLE(X)
#endif
#define GEMM_PANELS_DEFINE(r, v)                                                                                          \
  GEMM_NOINLINE void GEMM_F(panels_##v##_##r)(const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t panel, int64_t kc,   \
                                             int64_t last, const GEMM_S *alpha, GEMM_S *c, int64_t ldc) {                \
    GEMM_F(small_tile)(r, v, 1, a, lda, b, panel, kc, last, alpha, c, ldc);                                              \
  }
GEMM_PANELS_TILES(GEMM_PANELS_DEFINE)
#undef GEMM_PANELS_DEFINE
static const GEMM_F(small_fn) GEMM_F(panels_tiles)[5][17] = {
#define GEMM_PANELS_ENTRY(r, v) [v][r] = GEMM_F(panels_##v##_##r),
    GEMM_PANELS_TILES(GEMM_PANELS_ENTRY)
#undef GEMM_PANELS_ENTRY
};

#if GEMM_LYING
GEMM_INLINE void GEMM_F(tail_tile)(int m, int n, int64_t kc, const char *a, int64_t lda, const char *b, GEMM_S *sums) {
  GEMM_F(panels_tiles)[(n + GEMM_LANES - 1) / GEMM_LANES][m]((const GEMM_S *)a, lda, (const GEMM_S *)b, 0, kc, GEMM_LANES, NULL, sums, GEMM_NR);
}
#endif

// Several blocks of K become one where nothing is packed in blocks otherwise: a packed operand changes no bit of a sum of blocks.
RIDGE_INLINE int GEMM_F(panels_whole)(const ridge_gemm_args *g) {
#ifdef GEMM_DOTS_MAX
  if (g->trans_b && g->M <= GEMM_DOTS_MAX) return 1;
#endif
  return g->K <= GEMM_KC || (!g->trans_b && g->M <= 4) || GEMM_F(is_slim)(g);
}

// A panel's columns beyond the last one are computed where A is packed, and here only to the end of a vector.
RIDGE_INLINE int GEMM_F(is_panels)(const ridge_gemm_args *g) {
  if (g->layers || g->batch > 1 || (g->mc | g->kc | g->nc) || g->K < 1 || g->K > GEMM_SLIM_K || g->N > 1 << 20 || g->M > 1 << 24) return 0;
  const int64_t size = sizeof(GEMM_S), bytes = g->N * g->K * size, rest = g->N % GEMM_NR;
  if (bytes > GEMM_SLIM_B * 3 / 2) return 0;
  if (g->packing && !GEMM_F(panels_whole)(g)) return 0;
  if (g->packing && g->M <= GEMM_PANELS_FEW) return 1;
  if (bytes > GEMM_SLIM_B) return 0;
  if (!g->packing) return g->K <= GEMM_PANELS_K && g->M >= 128 && g->N >= 96 && g->M * g->N * size > GEMM_SLIM_B;
  return g->K <= GEMM_PANELS_K || g->N * size <= (rest > 0 && rest <= GEMM_LANES ? 2560 : 768);
}

// Bytes of a thread's own panels where B does not come in panels.
RIDGE_INLINE int64_t GEMM_F(panels_bytes)(const ridge_gemm_args *g) {
  return g->packing ? 0 : ridge_apart((g->N + GEMM_NR - 1) / GEMM_NR * GEMM_B_PANEL(g->K));
}

GEMM_NOINLINE void GEMM_F(panels_rows)(const ridge_gemm_args *g, const char *panels, int64_t i0, int32_t m, int64_t from, int64_t to) {
  enum { L = GEMM_LANES };
  const int direct = GEMM_F(only_scaled)(g);
  const int64_t panel = GEMM_B_PANEL(g->K);
  const GEMM_S *a = (const GEMM_S *)g->A + i0 * g->lda;
  for (int64_t j = from; j < to; j += GEMM_PANELS_WIDE) {
    const int32_t w = (int32_t)gemm_min(GEMM_PANELS_WIDE, to - j), v = (w + L - 1) / L;
    GEMM_F(small_down)(g, direct, GEMM_F(panels_tiles)[v], GEMM_F(small_rows)[v], a, g->lda, (const GEMM_S *)(panels + j / GEMM_NR * panel),
                       panel, w - (v - 1) * L, i0, m, j, w, v);
  }
}

GEMM_NOINLINE int GEMM_F(run_panels)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  const int busy = GEMM_F(small_busy)(g, ctx->nthreads);
  int tm, tn;
  GEMM_F(own_grid)(g, busy, &tm, &tn);
  if (ctx->tid >= tm * tn) return RIDGE_OK;
  int64_t r0, r1, from, to;
  ridge_share(g->M, 1, ctx->tid / tn, tm, &r0, &r1);
  ridge_share(g->N, GEMM_NR, ctx->tid % tn, tn, &from, &to);
  const char *panels = g->packed;
  if (!g->packing) {
    const int64_t bytes = GEMM_F(panels_bytes)(g);
    if (ctx->workspace_bytes < ctx->nthreads * bytes) return RIDGE_E_WORKSPACE;
    char *own = (char *)ctx->workspace + ctx->tid * bytes;
    GEMM_F(pack_b)(own + from / GEMM_NR * GEMM_B_PANEL(g->K), (const GEMM_T *)g->B + (g->trans_b ? from * g->ldb : from), g->ldb, g->trans_b, to - from, g->K);
    panels = own;
  }
  for (int64_t i = r0; i < r1; i += GEMM_PANELS_ROWS) GEMM_F(panels_rows)(g, panels, i, (int32_t)gemm_min(GEMM_PANELS_ROWS, r1 - i), from, to);
  return RIDGE_OK;
}
#else
RIDGE_INLINE int GEMM_F(is_panels)(const ridge_gemm_args *g) { return (void)g, 0; }
RIDGE_INLINE int64_t GEMM_F(panels_bytes)(const ridge_gemm_args *g) { return (void)g, 0; }
#endif
