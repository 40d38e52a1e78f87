// Which products go by small tiles (gemm_small.h) or by rows where they lie (gemm_cross.h), and how threads share them (template, after both).

// Whether they share its columns: where rows, as row-wise steps before and after share them, would be too few, or where each
// thread turns B and all of it would be too much work beside them: at 128 rows and two threads turning it twice costs 6 %; or where L2 does not hold all
// of B. Not where that would leave more threads idle than rows do.
RIDGE_INLINE int GEMM_F(small_columns)(const ridge_gemm_args *g, int busy) {
  const int turned = !GEMM_SAME || g->trans_b;
  if (!turned && (g->N + GEMM_LANES - 1) / GEMM_LANES < gemm_min(busy, g->M)) return 0;
  if (turned) return busy > 1 && g->N >= busy * GEMM_NR && g->M < GEMM_SMALL_TURNED * (busy - 1);
  return busy > 1 && (g->M < 4 * busy || g->N * g->K * (int64_t)sizeof(GEMM_S) > GEMM_SLIM_B);
}

// One thread's share of one product.
GEMM_INLINE void GEMM_F(small_share)(const ridge_gemm_args *g, GEMM_S *room, int tid, int nthreads) {
#if GEMM_SAME
  if (GEMM_F(is_cross)(g)) {
    GEMM_F(cross_share)(g, tid, nthreads);
    return;
  }
#endif
  const int busy = GEMM_F(small_busy)(g, nthreads);
  if (tid >= busy) return;
  if (busy == 1) {
    GEMM_F(small_part)(g, room, 0, g->M, 0, g->N);
    return;
  }
  int64_t from, to;
  if (GEMM_F(small_columns)(g, busy)) {
    ridge_share(g->N, GEMM_LANES, tid, busy, &from, &to);
    GEMM_F(small_part)(g, room, 0, g->M, from, to - from);
  } else {
    ridge_share(g->M, 1, tid, busy, &from, &to);
    GEMM_F(small_part)(g, room, from, to - from, 0, g->N);
  }
}

// Whether B is so narrow, and stays in L2 beside what is read of A, that A is not packed, however many its rows and however long K: packing it costs as
// much as the multiply-adds of some 16 columns. One row reads B best in the order it lies in (gemm_thin.h), a few against B stored [N,K] go by dot products
// (gemm_dots.h). Rows of B a page apart evict each other (4096x4096x64 0.55, 512x1024x256 0.64 of the packed way's rate), and wider products
// gain up to 1.07 where a core is alone and lose as much beside another thread, as these tiles have more instructions; but where K is so short that
// packing and C, in L2, are most of the work: 579x353x14 1.40, 300x300x32 1.30. Up to 32 rows B may be larger than L2: 16x1000x900 1.26, 8x900x1000 1.13.
// Tiles of packed panels that read A where it lies themselves (GEMM_LYING, Ice Lake, L2 of 1.25 MiB) ask for the lines of C before they store, and read A once for four
// panels. Of the rate here, one thread: A and C beyond the last-level cache 16384x256x256 1.47, 32768x192x256 1.38, 32768x128x64 1.35, 8192x256x512 1.13, fp64
// 16384x128x256 1.39, 16384x50x256 1.32; in it 1024 to 4096 rows of 256 columns and 256 of K 1.04 to 1.06, fp64 1.07 to 1.35, 128 columns 0.98 to 1.05; B of 1 MiB, 256 columns, 96 to 4096
// rows, 1.11 to 1.46, fp64 1.40 to 1.59. Not with K up to 32 (2048x256x16 0.81, 1024x200x24 0.94), fewer rows (1024x128x48 0.89), longer K (8192x128x1024 0.95, 8192x128x1600 0.93,
// 1024x256x512 0.97), nor up to a panel's width (32768x64x256 1.00, 32768x48x256 0.90). Up to 768 bytes of a row of B one block of K alone: packed beforehand they have one (8192x192x512 so 0.94).
RIDGE_INLINE int GEMM_F(is_slim)(const ridge_gemm_args *g) {
  const int64_t size = sizeof(GEMM_S);
  const int run = GEMM_SAME && g->N == 1 && g->ldb == 1; // B is one run: read where it lies, however long
  if (g->M < 2 || g->M > 1 << 24 || g->N > 1 << 12 || (g->K > GEMM_SLIM_K && !run) || g->N * g->K * size > (g->M > 32 ? 1 : g->M < 4 ? 2 : 4) * GEMM_SLIM_B) return 0;
#ifdef GEMM_DOTS_MAX
  if (g->trans_b && g->M <= GEMM_DOTS_MAX) return 0;
#endif
  if (!GEMM_SAME) return g->N <= GEMM_SLIM_PANELS * GEMM_NR; // A is widened once for all of them
  if (GEMM_LYING && !g->trans_b && g->N > GEMM_NR && g->M > 32 && g->K > 32 &&
      ((g->N * size > 768 && g->N * g->K * size > 768 << 10) || (g->K <= 256 && g->N >= 2 * GEMM_NR && g->M * g->K >= 1 << 17) ||
       (g->K <= (g->N * size > 768 ? 512 : 256) && g->M * (g->N + g->K) * size >= 12 << 20)))
    return 0;
  if (g->trans_b) return g->N * size <= 1024 && (g->K >= 128 || g->M * g->N * size <= 2 * GEMM_SLIM_C);
  return (g->ldb * size < 4096 || GEMM_SMALL_ONCE(g)) && (g->M <= 32 || g->N * size <= (g->K < 256 ? 768 : 1024) || (g->K <= 32 && g->M * g->N * size <= 4 * GEMM_SLIM_C));
}

// With block sizes given the packed loops are wanted.
RIDGE_INLINE int GEMM_F(is_small)(const ridge_gemm_args *g, int nthreads) {
  if (g->packing || (g->mc | g->kc | g->nc)) return 0;
#ifdef GEMM_TALL
  if (GEMM_F(is_tall)(g)) return 0;
#endif
  if (GEMM_F(is_cross)(g) || GEMM_F(is_slim)(g)) return 1;
  if (g->M > 1 << 12 || g->N > 1 << 12 || g->K > GEMM_SMALL_K || g->M * g->N * g->K > GEMM_SMALL_MACS || g->N * g->K * (int64_t)sizeof(GEMM_S) > GEMM_SMALL_B)
    return 0;
  if (GEMM_SAME) return 1;
  const int busy = gemm_whole(g->batch, nthreads) ? 1 : GEMM_F(small_busy)(g, nthreads);
  const int64_t rows = GEMM_F(small_columns)(g, busy) ? g->M : (g->M + busy - 1) / busy;
  return rows * g->K <= GEMM_SMALL_A;
}

// B of one column that is stored [N,K] lies as one of [K,N] with rows of one element: the product with that B, in room.
RIDGE_INLINE const ridge_gemm_args *GEMM_F(upright)(const ridge_gemm_args *g, ridge_gemm_args *room) {
  if (!GEMM_SAME || g->N != 1 || g->M < 2 || !g->trans_b || g->packing || g->layers) return g;
  *room = *g;
  room->trans_b = 0, room->ldb = 1;
  return room;
}

// Bytes of a thread's panel of B, and of the rows of A that it widens.
RIDGE_INLINE int64_t GEMM_F(small_bytes)(const ridge_gemm_args *g) {
  if (g->K <= GEMM_SMALL_K || (GEMM_SAME && !g->trans_b) || GEMM_F(is_cross)(g)) return 0;
  return ridge_apart(g->K * (GEMM_SAME ? GEMM_NR : GEMM_SLIM_PANELS * GEMM_NR + GEMM_SLIM_WIDE) * (int64_t)sizeof(GEMM_S));
}

GEMM_NOINLINE int GEMM_F(small)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  const int64_t bytes = GEMM_F(small_bytes)(g);
  if (ctx->workspace_bytes < ctx->nthreads * bytes) return RIDGE_E_WORKSPACE;
  GEMM_S *room = bytes > 0 ? (GEMM_S *)((char *)ctx->workspace + ctx->tid * bytes) : NULL;
  if (g->batch <= 1) {
    GEMM_F(small_share)(g, room, ctx->tid, ctx->nthreads);
    return RIDGE_OK;
  }
  int64_t from = 0, to = g->batch;
  int tid = ctx->tid, nthreads = ctx->nthreads;
  if (gemm_whole(g->batch, nthreads)) {
    ridge_share(g->batch, 1, tid, nthreads, &from, &to);
    tid = 0, nthreads = 1;
  }
  ridge_gemm_args each = *g;
  GEMM_F(advance)(&each, from);
  for (; from < to; from++, GEMM_F(advance)(&each, 1)) GEMM_F(small_share)(&each, room, tid, nthreads);
  return RIDGE_OK;
}
