// B packed beforehand (template, in gemm_driver.h): the panels that the tiles read, in g->packed,
//
//   for pc in K by KC: for j in N by NR: one panel of KC x NR, zeros behind column N
//
// in the accumulator's format. A thread's group of panels is one run of memory for a block of K, which the prefetchers follow, and nothing of
// it is written in the call. Narrow and flat products meet it in one block of K (gemm_panels.h); others go the way for few rows (gemm_few.h), whatever their rows: two blocks of MC at a time,
// each of which reads B once; those of exact tiles go by gemm_own.h below GEMM_OWN_ROWS rows and by Goto's loops from there on. Block sizes do not depend on the threads, so one copy serves any team.

// Where, in a copy of B[K,N] by blocks of K, block pc of K begins with column j.
RIDGE_INLINE char *GEMM_F(copied)(const void *copy, int64_t N, int64_t K, int64_t block, int64_t pc, int64_t j) {
  const int64_t panels = (N + GEMM_NR - 1) / GEMM_NR, kc = gemm_ceil(gemm_min(block, K - pc), GEMM_KU);
  return (char *)copy + pc / block * panels * GEMM_B_PANEL(block) + j / GEMM_NR * GEMM_B_PANEL(kc);
}

// Panels for GEMM_NR columns of C: SwiGLU on matrix tiles has one of the gate and one of up, in turn.
#if GEMM_TILES
RIDGE_INLINE int64_t GEMM_F(times)(const ridge_gemm_args *g) { return g->layers == RIDGE_LAYERS_SWIGLU ? 2 : 1; }
#else
RIDGE_INLINE int64_t GEMM_F(times)(const ridge_gemm_args *g) { return (void)g, 1; }
#endif

RIDGE_INLINE char *GEMM_F(given)(const ridge_gemm_args *g, const GEMM_F(plan) *p, int64_t pc, int64_t j) {
  const int64_t times = GEMM_F(times)(g);
  return GEMM_F(copied)(g->packed, times * gemm_ceil(g->N, GEMM_NR), g->K, p->kc, pc, times * j);
}

#ifdef GEMM_LAYERS // gemm_layers.h
RIDGE_INLINE int64_t GEMM_F(layers_packed)(const ridge_gemm_args *g, int32_t nthreads);
GEMM_NOINLINE int GEMM_F(layers_pack)(const ridge_gemm_args *g, const ridge_ctx *ctx);
#endif

int64_t GEMM_PASTE(GEMM_PASTE(ridge, GEMM_NAME), packed)(const void *args, int32_t nthreads) {
  const ridge_gemm_args *g = args;
#ifdef GEMM_LAYERS
  if (g->layers) return GEMM_F(layers_packed)(g, nthreads);
#endif
  const GEMM_F(plan) p = GEMM_F(make_plan)(g, nthreads);
  const int64_t last = g->K > 0 ? (g->K - 1) / p.kc * p.kc : 0; // the last block of K begins there
  return g->K > 0 && g->N > 0 ? GEMM_F(given)(g, &p, last, gemm_ceil(g->N, GEMM_NR)) - (char *)g->packed : 0;
}

GEMM_TARGET int GEMM_PASTE(GEMM_PASTE(ridge, GEMM_NAME), pack)(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *g = args;
#ifdef GEMM_LAYERS
  if (g->layers) return GEMM_F(layers_pack)(g, ctx);
#endif
  const GEMM_F(plan) p = GEMM_F(make_plan)(g, ctx->nthreads);
  int64_t from, to;
  ridge_share(g->N, GEMM_NR, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t pc = 0; pc < g->K && from < to; pc += p.kc)
    GEMM_F(pack_b)(GEMM_F(given)(g, &p, pc, from), (const GEMM_TB *)g->B + (g->trans_b ? from * g->ldb + pc : pc * g->ldb + from), g->ldb,
                   g->trans_b, to - from, gemm_min(p.kc, g->K - pc));
  return RIDGE_OK;
}
