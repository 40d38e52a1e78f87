// Few rows of C (template, in gemm_driver.h): a panel of B serves so few tiles that writing it to
// L3 and reading it back would cost as much as the arithmetic.
//
//   the team packs all of A, block after block of K; barrier
//   each thread, for its columns of C by groups of four panels, for pc in K by KC:
//     packs B[pc:pc+KC, group] (its L2) while the lines of the next group are on their way,
//     for its panels (KC x NR in L1), for panels of A: the MR x NR tile
//
// One Zen 3 core, of the FMA probe, before and after: 16x4096x4096 0.34 and 0.40, 32x4096x4096 0.48
// and 0.55, 64x3072x768 0.63 and 0.70; 256^3 and 16x1000x1000 are the same within the noise. (Measured with AVX2's fp32 tiles, which
// now go by gemm_own.h; int8 of AVX2 and NEON go here.)
//
// The group's columns of C stay in L1 while K advances. Threads share N.

// Rows i0 .. i0+rows-1 of C. Where B comes packed beforehand (gemm_packed.h) nothing of it is copied.
GEMM_INLINE void GEMM_F(few_rows)(const ridge_gemm_args *g, const ridge_ctx *ctx, const GEMM_F(plan) *p, int64_t i0, int64_t rows) {
  char *ws = ctx->workspace, *b_pack = ws + ctx->tid * p->b_bytes;
  const int64_t blocks = (g->K + p->kc - 1) / p->kc, panels = (rows + GEMM_MR - 1) / GEMM_MR;
  GEMM_F(block) k;
  memset(&k, 0, sizeof k);
  k.given = g->packing;
  int64_t from, to;
  ridge_share(blocks * panels, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    const int64_t pc = u / panels * p->kc, kc = gemm_min(p->kc, g->K - pc);
    int m;
    const int64_t i = i0 + (GEMM_EXACTLY(k.given) ? GEMM_F(even_at)(rows, u % panels, &m) : GEMM_F(tile_at)(rows, u % panels, &m));
    GEMM_F(pack_a)(ws + p->a_at + u / panels * p->a_bytes + u % panels * GEMM_A_PANEL(gemm_ceil(kc, GEMM_KU)),
                   (const GEMM_TA *)g->A + i * g->lda + pc, g->lda, m, kc);
  }
  ridge_barrier(ctx);
  ridge_share(g->N, GEMM_NR, ctx->tid, ctx->nthreads, &from, &to);
  k.plain = GEMM_C_IS_S && GEMM_F(plain)(g);
  k.padded = !GEMM_F(in_c)(g);
  k.i0 = i0, k.rows = rows, k.b = b_pack;
  for (int64_t j = from; j < to; j += GEMM_GROUP) {
    k.j0 = j, k.cols = gemm_min(GEMM_GROUP, to - j);
    k.acc = NULL, k.acc_ld = 0;
    if (GEMM_F(in_c)(g)) {
      k.acc_ld = g->ldc, k.acc = (GEMM_S *)g->C + i0 * g->ldc + j;
    } else if (p->acc_ld) {
      k.acc_ld = p->acc_ld;
      k.acc = (GEMM_S *)(ws + p->acc_at + ctx->tid * p->acc_bytes);
    }
    for (int64_t pc = 0; pc < g->K; pc += p->kc) {
      const int64_t kc = gemm_min(p->kc, g->K - pc);
      k.kc = gemm_ceil(kc, GEMM_KU);
      k.a_panel = GEMM_A_PANEL(k.kc), k.b_panel = GEMM_B_PANEL(k.kc);
      k.a = ws + p->a_at + pc / p->kc * p->a_bytes;
      k.first = pc == 0, k.last = pc + kc >= g->K;
      k.ahead.left = 0;
      if (g->packing) {
        k.b = GEMM_F(given)(g, p, pc, j);
        GEMM_F(macro)(g, &k);
        continue;
      }
      GEMM_F(pack_b)(b_pack, (const GEMM_TB *)g->B + (g->trans_b ? j * g->ldb + pc : pc * g->ldb + j), g->ldb, g->trans_b,
                     k.cols, kc);
      const int64_t nj = k.last ? j + k.cols : j, npc = k.last ? 0 : pc + kc; // what comes next
      const int64_t cols = gemm_min(GEMM_GROUP, to - nj), ks = gemm_min(p->kc, g->K - npc), b = sizeof(GEMM_TB);
      const GEMM_TB *next = (const GEMM_TB *)g->B + (g->trans_b ? nj * g->ldb + npc : npc * g->ldb + nj);
      const int64_t tiles = panels * ((k.cols + GEMM_NR - 1) / GEMM_NR);
      if (cols > 0)
        k.ahead = g->trans_b ? gemm_ahead_of(next, g->ldb * b, cols, ks * b, tiles)
                             : gemm_ahead_of(next, g->ldb * b, ks, cols * b, tiles);
      GEMM_F(macro)(g, &k);
    }
  }
}

GEMM_NOINLINE int GEMM_F(run_few)(const ridge_gemm_args *g, const ridge_ctx *ctx, const GEMM_F(plan) *p) {
  GEMM_BEGIN
  for (int64_t i = 0; i < g->M; i += p->rows) {
    if (i > 0) ridge_barrier(ctx); // before A is packed over what others read
    GEMM_F(few_rows)(g, ctx, p, i, gemm_min(p->rows, g->M - i));
  }
  GEMM_END
  return RIDGE_OK;
}
