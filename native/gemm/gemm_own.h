// Exact tiles that pack B themselves (template, in gemm_driver.h, for variants with GEMM_EXACT): each thread has a
// part of C to itself and packs all that it needs, so no thread waits for another.
//
//   each thread of a tm x tn grid, for its rows by MC:
//     packs A[ic:ic+MC, :], block after block of K (a block in L2)
//     for its columns by groups of four panels, for pc in K by KC:
//       for panels of A, for the group's panels of B (L2): the tile; the first row of tiles
//       reads B where it lies and packs it (gemm_exact.h), while the lines of the next panel are asked for
//
// A panel of A is read from L2 once for four tiles, a group's panels stay in L2 for MC/MR tiles. B is read
// from memory once for every MC rows, which the multiply-adds hide from 16 rows on. The group's columns of
// C stay in L2 while K advances. On Zen 4, fp32 1024^3 on one thread, of the FMA probe: Goto's loops with
// shared packed B 0.87 to 0.89, this with all of A packed at once (L3) 0.87, MC = 128, KC = 512 0.98.

// How a team shares C: a thread's work is its tiles, packing its rows of A (as 16 columns) and reading its
// columns of B (as 8 rows).
RIDGE_INLINE void GEMM_F(own_grid)(const ridge_gemm_args *g, int nthreads, int *tm, int *tn) {
  const int64_t panels = (g->N + GEMM_NR - 1) / GEMM_NR;
  int64_t best = INT64_MAX;
  *tm = nthreads, *tn = 1;
  for (int m = 1; m <= nthreads; m++) {
    const int n = nthreads / m;
    const int64_t rows = (g->M + m - 1) / m, cols = (panels + n - 1) / n * GEMM_NR, cost = rows * (cols + 16) + cols * 8;
    if (cost < best) best = cost, *tm = m, *tn = n;
  }
}

// Tiles of one block. b: its corner of B, with so many whole units of K, or NULL where B is packed; next: elements from the block's corner of B to what is read after it, 0 for nothing.
GEMM_NOINLINE void GEMM_F(own_block)(const ridge_gemm_args *g, GEMM_F(block) *k, const GEMM_TB *b, int64_t units,
                                     int64_t next) {
  const int64_t tiles = (k->rows + GEMM_MR - 1) / GEMM_MR;
  for (int64_t t = 0; t < tiles; t++)
    for (int64_t jr = 0; jr < k->cols; jr += GEMM_NR) {
      gemm_ahead_step(&k->ahead);
      const int64_t left = k->cols - jr;
      const GEMM_F(source) from = {b + jr, g->ldb, left >= 2 * GEMM_NR ? GEMM_NR : next ? next - jr : 0, units};
      GEMM_F(one_tile)(g, k, t, jr, b && t == 0 && left >= GEMM_NR ? &from : NULL);
    }
}

GEMM_NOINLINE int GEMM_F(run_own)(const ridge_gemm_args *g, const ridge_ctx *ctx, const GEMM_F(plan) *p) {
  int tm, tn;
  GEMM_F(own_grid)(g, ctx->nthreads, &tm, &tn);
  if (ctx->tid >= tm * tn) return RIDGE_OK;
  int64_t r0, r1, from, to;
  ridge_share(g->M, 1, ctx->tid / tn, tm, &r0, &r1);
  ridge_share(g->N, GEMM_NR, ctx->tid % tn, tn, &from, &to);
  char *ws = ctx->workspace, *b_pack = ws + ctx->tid * p->b_bytes;
  char *a_pack = ws + p->a_at + ctx->tid * p->a_bytes;
  GEMM_S *acc = p->acc_ld ? (GEMM_S *)(ws + p->acc_at + ctx->tid * p->acc_bytes) : NULL;
  GEMM_F(block) k;
  memset(&k, 0, sizeof k);
  k.plain = GEMM_C_IS_S && GEMM_F(plain)(g);
  k.padded = !GEMM_F(in_c)(g);
  k.b = b_pack;
  const int64_t step = gemm_block(r1 - r0, p->rows, 1);
  for (int64_t ic = r0; ic < r1; ic += step) {
    k.i0 = ic, k.rows = gemm_min(step, r1 - ic);
    const int64_t tiles = (k.rows + GEMM_MR - 1) / GEMM_MR;
    for (int64_t pc = 0, at = 0; pc < g->K; pc += p->kc) {
      const int64_t kc = gemm_min(p->kc, g->K - pc), panel = GEMM_A_PANEL(gemm_ceil(kc, GEMM_KU));
      for (int64_t t = 0; t < tiles; t++, at += panel) {
        int m;
        const int64_t i = ic + GEMM_F(tile_at)(k.rows, t, &m);
        GEMM_F(pack_a)(a_pack + at, (const GEMM_TA *)g->A + i * g->lda + pc, g->lda, m, kc);
      }
    }
    for (int64_t j = from; j < to; j += GEMM_GROUP) {
      k.j0 = j, k.cols = gemm_min(GEMM_GROUP, to - j);
      k.acc = acc, k.acc_ld = p->acc_ld;
      if (GEMM_F(in_c)(g)) k.acc_ld = g->ldc, k.acc = (GEMM_S *)g->C + ic * g->ldc + j;
      k.a = a_pack;
      for (int64_t pc = 0; pc < g->K; pc += p->kc) {
        const int64_t kc = gemm_min(p->kc, g->K - pc);
        k.kc = gemm_ceil(kc, GEMM_KU);
        k.a_panel = GEMM_A_PANEL(k.kc), k.b_panel = GEMM_B_PANEL(k.kc);
        k.first = pc == 0, k.last = pc + kc >= g->K;
        // What comes next: the next block of K, else the next group, else the first for the next rows.
        const int64_t npc = k.last ? 0 : pc + kc, nj = !k.last ? j : j + k.cols < to ? j + k.cols : from;
        const int more = !k.last || j + k.cols < to || ic + step < r1;
        const GEMM_TB *here = (const GEMM_TB *)g->B + (g->trans_b ? j * g->ldb + pc : pc * g->ldb + j);
        k.ahead.left = 0;
        if (g->packing) {
          k.b = GEMM_F(given)(g, p, pc, j);
          GEMM_F(own_block)(g, &k, NULL, 0, 0);
        } else if (!g->trans_b) {
          const int64_t whole = k.cols / GEMM_NR * GEMM_NR, units = kc / GEMM_KU;
          if (units * GEMM_KU < kc)
            for (int64_t jr = 0; jr < whole; jr += GEMM_NR)
              GEMM_F(pack_b)(b_pack + jr / GEMM_NR * k.b_panel + units * GEMM_NV * GEMM_VEC, here + units * GEMM_KU * g->ldb + jr,
                             g->ldb, 0, GEMM_NR, kc - units * GEMM_KU);
          if (whole < k.cols)
            GEMM_F(pack_b)(b_pack + whole / GEMM_NR * k.b_panel, here + whole, g->ldb, 0, k.cols - whole, kc);
          GEMM_F(own_block)(g, &k, here, units, more ? (npc - pc) * g->ldb + nj - j : 0);
        } else {
          GEMM_F(pack_b)(b_pack, here, g->ldb, g->trans_b, k.cols, kc);
          const GEMM_TB *next = (const GEMM_TB *)g->B + (g->trans_b ? nj * g->ldb + npc : npc * g->ldb + nj);
          const int64_t n = gemm_min(GEMM_GROUP, to - nj), ks = gemm_min(p->kc, g->K - npc), b = sizeof(GEMM_TB);
          const int64_t steps = tiles * ((k.cols + GEMM_NR - 1) / GEMM_NR);
          if (more)
            k.ahead = g->trans_b ? gemm_ahead_of(next, g->ldb * b, n, ks * b, steps)
                                 : gemm_ahead_of(next, g->ldb * b, ks, n * b, steps);
          GEMM_F(own_block)(g, &k, NULL, 0, 0);
        }
        k.a += tiles * k.a_panel;
      }
    }
  }
  return RIDGE_OK;
}
