// Two products in one launch on matrix tiles (template, in gemm_layers.h), by the strips of gemm_tiles.h:
//
//   swiglu: one product whose panels of B are the gate's and up's in turn; where a panel of up ends, both meet in C
//   mlp:    for blocks of R rows: hidden block = act(X * B^T + bias), as bf16; barrier; Y = hidden block * B2^T + bias2; barrier
//
// Strips have the rows that there are, by 16, and the first panel of them packs A on its way: the other way's tiles of 32 rows have half of their
// products for nothing with 16 rows and fewer, and read A anew for every panel.

// Emerald Rapids, two threads, of ridge's own chain of two layers on strips, with packed weights, before (32 x 32 tiles, chunks of hidden features; by `ridge fusion`) and so: mlp
// of 768 and 3072 features 8 rows 0.44 and 1.01, 16 rows 0.46 and 1.01, 64 rows 0.73 and 1.05, 256 rows 1.04, 1024 rows 1.03; of 1024 and 4096 features
// 1024 rows 1.05; swiglu of 1024 and 2816 features 8 rows 0.61 and 1.04, 64 rows 0.82 and 1.05, 1024 rows 1.06. Weights as they lie: mlp 1.01 up to 64
// rows, 1.04 at 128 and 256.

// Bytes of the hidden block. Weights that are not packed beforehand are packed again for each block: of the chain with them, 1024 rows of 1024 and 4096 features by 0.75 MiB
// 0.77, by 1.5 MiB 0.92, by 3 MiB 0.97, by 4 MiB 1.00, by 8 MiB 1.03; packed 1.015, 1.04, 1.04, 1.06, 1.05.
#define GEMM_LAYERS_TILES_HIDDEN(g) ((g)->packing ? 4 << 20 : 8 << 20)

#define GEMM_LAYERS_STRIPS(g) GEMM_F(by_strips)(g)
RIDGE_INLINE int GEMM_F(by_strips)(const ridge_gemm_args *g) {
  if (g->N <= 0 || g->K <= 0) return 0;
  if (g->layers == RIDGE_LAYERS_MLP) return g->H > 0;
  // Of weights as they lie, 1024 -> 2816, bf16, two threads, of the blocks of gemm_layers.h: 16 rows 1.47, 48 rows 1.33, 64 rows 1.25, 96 rows 1.00, 256 rows 0.82, 1024 rows 0.99.
  return g->packing || g->M <= GEMM_TILES_FEW;
}

// Rows of a block of an MLP.
RIDGE_INLINE int64_t GEMM_F(mlp_rows)(const ridge_gemm_args *g) {
  return gemm_block(g->M, gemm_most(GEMM_F(STRIP), GEMM_LAYERS_TILES_HIDDEN(g) / (g->H * (int64_t)sizeof(GEMM_TA))), GEMM_F(STRIP));
}
// Pitch of the hidden block: an odd number of lines.
RIDGE_INLINE int64_t GEMM_F(mlp_ld)(const ridge_gemm_args *g) { return (gemm_ceil(g->H, GEMM_KU) / GEMM_KU | 1) * GEMM_KU; }

// One of an MLP's products for so many rows; what it reads and writes of the hidden block is set where that lies.
RIDGE_INLINE ridge_gemm_args GEMM_F(mlp_layer)(const ridge_gemm_args *g, int second, int64_t rows) {
  ridge_gemm_args x = *g;
  x.layers = RIDGE_LAYERS_ONE, x.M = rows, x.kc = GEMM_F(tiles_kc)(g); // as they are packed for all rows
  if (!second) {
    x.N = g->H, x.ldc = GEMM_F(mlp_ld)(g);
    return x;
  }
  x.K = g->H, x.lda = GEMM_F(mlp_ld)(g), x.B = g->B2, x.ldb = g->ldb2, x.bias = g->bias2, x.act = RIDGE_ACT_NONE;
  return x;
}

// Where the hidden block begins in the workspace, behind what either product of a whole or of the last block of rows takes.
RIDGE_INLINE int64_t GEMM_F(mlp_hidden_at)(const ridge_gemm_args *g, int64_t nthreads) {
  const int64_t block = GEMM_F(mlp_rows)(g);
  int64_t most = 0;
  for (int second = 0; second < 2; second++)
    for (int rest = 0; rest < 2; rest++) {
      const int64_t rows = rest ? g->M % block : gemm_min(block, g->M);
      if (rows <= 0) continue;
      const ridge_gemm_args x = GEMM_F(mlp_layer)(g, second, rows);
      most = gemm_most(most, GEMM_F(make_plan)(&x, (int32_t)nthreads).total);
    }
  return gemm_ceil(most, 4096);
}

RIDGE_INLINE int64_t GEMM_F(strips_bytes)(const ridge_gemm_args *g, int64_t nthreads) {
  if (g->layers == RIDGE_LAYERS_SWIGLU) return GEMM_F(make_plan)(g, (int32_t)nthreads).total;
  return GEMM_F(mlp_hidden_at)(g, nthreads) + GEMM_F(mlp_rows)(g) * GEMM_F(mlp_ld)(g) * (int64_t)sizeof(GEMM_TA);
}

// Bytes of an MLP's first copy of weights; the second's follows.
RIDGE_INLINE int64_t GEMM_F(mlp_first_packed)(const ridge_gemm_args *g, int32_t nthreads) {
  const ridge_gemm_args x = GEMM_F(mlp_layer)(g, 0, g->M);
  return GEMM_PASTE(GEMM_PASTE(ridge, GEMM_NAME), packed)(&x, nthreads);
}

RIDGE_INLINE int64_t GEMM_F(strips_packed)(const ridge_gemm_args *g, int32_t nthreads) {
  if (g->layers == RIDGE_LAYERS_MLP) {
    const ridge_gemm_args x = GEMM_F(mlp_layer)(g, 1, g->M);
    return GEMM_F(mlp_first_packed)(g, nthreads) + GEMM_PASTE(GEMM_PASTE(ridge, GEMM_NAME), packed)(&x, nthreads);
  }
  const GEMM_F(plan) p = GEMM_F(make_plan)(g, nthreads);
  ridge_gemm_args from = *g;
  from.packed = (void *)64; // as an address to count from: it is not read
  return GEMM_F(given)(&from, &p, (g->K - 1) / p.kc * p.kc, gemm_ceil(g->N, GEMM_NR)) - (char *)from.packed;
}

GEMM_NOINLINE int GEMM_F(strips_pack)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  if (g->layers == RIDGE_LAYERS_MLP) {
    ridge_gemm_args x = GEMM_F(mlp_layer)(g, 0, g->M);
    const int code = GEMM_PASTE(GEMM_PASTE(ridge, GEMM_NAME), pack)(&x, ctx);
    if (code != RIDGE_OK) return code;
    x = GEMM_F(mlp_layer)(g, 1, g->M);
    x.packed = (char *)g->packed + GEMM_F(mlp_first_packed)(g, ctx->nthreads);
    return GEMM_PASTE(GEMM_PASTE(ridge, GEMM_NAME), pack)(&x, ctx);
  }
  const GEMM_F(plan) p = GEMM_F(make_plan)(g, ctx->nthreads);
  int64_t from, to;
  ridge_share(g->N, GEMM_NR, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t pc = 0; pc < g->K; pc += p.kc)
    for (int64_t j = from, kc = gemm_min(p.kc, g->K - pc); j < to; j += GEMM_NR) {
      char *at = GEMM_F(given)(g, &p, pc, j);
      GEMM_F(pack_b)(at, (const GEMM_TB *)g->B + j * g->ldb + pc, g->ldb, 1, gemm_min(GEMM_NR, to - j), kc);
      GEMM_F(pack_b)(at + GEMM_B_PANEL(gemm_ceil(kc, GEMM_KU)), (const GEMM_TB *)g->B2 + j * g->ldb2 + pc, g->ldb2, 1, gemm_min(GEMM_NR, to - j), kc);
    }
  return RIDGE_OK;
}

GEMM_NOINLINE int GEMM_F(run_strips)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  if (ctx->workspace_bytes < GEMM_F(strips_bytes)(g, ctx->nthreads)) return RIDGE_E_WORKSPACE;
  if (g->layers == RIDGE_LAYERS_SWIGLU) {
    const GEMM_F(plan) p = GEMM_F(make_plan)(g, ctx->nthreads);
    return GEMM_F(run_tiles)(g, ctx, &p);
  }
  char *hid = (char *)ctx->workspace + GEMM_F(mlp_hidden_at)(g, ctx->nthreads);
  const int64_t block = GEMM_F(mlp_rows)(g);
  for (int64_t i = 0; i < g->M; i += block) {
    ridge_gemm_args first = GEMM_F(mlp_layer)(g, 0, gemm_min(block, g->M - i)), last = GEMM_F(mlp_layer)(g, 1, first.M);
    first.A = (const GEMM_TA *)g->A + i * g->lda, first.C = hid;
    last.A = hid, last.C = (GEMM_TC *)g->C + i * g->ldc;
    if (g->packing) last.packed = (char *)g->packed + GEMM_F(mlp_first_packed)(g, ctx->nthreads);
    if (i > 0) ridge_barrier(ctx); // the hidden block is read until here
    GEMM_F(plan) p = GEMM_F(make_plan)(&first, ctx->nthreads);
    int code = GEMM_F(run_tiles)(&first, ctx, &p);
    ridge_barrier(ctx);
    if (code != RIDGE_OK) return code;
    p = GEMM_F(make_plan)(&last, ctx->nthreads);
    code = GEMM_F(run_tiles)(&last, ctx, &p);
    if (code != RIDGE_OK) return code;
  }
  return RIDGE_OK;
}
#undef GEMM_LAYERS_TILES_HIDDEN
