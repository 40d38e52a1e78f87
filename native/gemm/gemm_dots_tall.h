// Few columns of C, by dot products along K (template, after gemm_dots.h, for 16-bit formats that are widened): C^T = op(B)^T * A^T.
//
//   each thread, for its rows of C:
//     the columns of B are copied as gemm_dots.h copies few rows of A (B stored [K,N] is turned before), the rows of A, which lie along K, are read where they are
//     as rows of a B stored [N,K]: once, widened in registers; the sums are turned at the end
//
// Emerald Rapids, one thread, bf16, of what it was: 300x1x2048 10.1, 1000x2x64 3.4, 32x5x4096 2.7, 897x7x2048 2.4; docs/kernels/gemm.md.
//
// By vectors of columns a row takes K multiply-adds whatever its columns, and A is widened through memory first; so it takes N/16 of them a k (N/8, N/4 on
// narrower vectors), and some 5 cycles a sum for adding its lanes and turning it.
#if GEMM_PK == 1 && !GEMM_SAME
#define GEMM_TALL 12
_Static_assert(GEMM_TALL < 16, "turn32 by 16 rows would write more than a row's units");
RIDGE_INLINE int GEMM_F(is_tall)(const ridge_gemm_args *g) {
  const int64_t M = g->M, N = g->N, K = g->K;
  if (N < 1 || N > GEMM_TALL || M <= GEMM_THIN_MAX || K < 1 || (g->mc | g->kc | g->nc) || g->packing) return 0;
  if (g->trans_b && M <= GEMM_DOTS_MAX) return M >= 2 * N; // dot products in either case: fewer rows are copied
  return N * (K / (2 * GEMM_LANES) + 5) < (N + GEMM_LANES - 1) / GEMM_LANES * K * 2 / 5;
}

// Bytes of a thread's copies: the columns as they are multiplied; of a B stored [K,N] its pairs of rows side by side, and those turned.
RIDGE_INLINE int64_t GEMM_F(tall_turned)(const ridge_gemm_args *g) { return gemm_ceil((g->K + 1) / 2 * g->N * 4 + 64, 64); }
RIDGE_INLINE int64_t GEMM_F(tall_bytes)(const ridge_gemm_args *g) {
  return ridge_apart(gemm_ceil(GEMM_F(dots_bytes)(g->N, g->K), 64) + (g->trans_b ? 0 : 2 * GEMM_F(tall_turned)(g)));
}

// The columns of a B stored [K,N] one after another, each of whole pairs: to turned, by way of its pairs of rows.
GEMM_NOINLINE void GEMM_F(tall_turn)(uint32_t *turned, uint32_t *pairs, const ridge_gemm_args *g) {
  enum { L = GEMM_LANES, T = sizeof(GEMM_T) };
  typedef uint32_t VU __attribute__((vector_size(GEMM_VEC), aligned(1), may_alias));
  const int64_t units = (g->K + 1) / 2;
  for (int64_t u = 0; u < units; u++)
    for (int64_t j = 0; j < g->N; j += L) { // what is written beyond a row is overwritten by the next
      const GEMM_T *b = (const GEMM_T *)g->B + 2 * u * g->ldb + j;
      const int64_t n = gemm_min(L, g->N - j);
      GEMM_F(h) x[2] = {{0}};
      for (int q = 0; q < 2 && 2 * u + q < g->K; q++)
        if (n == L)
          x[q] = *(const GEMM_F(hu) *)(b + q * g->ldb);
        else
          GEMM_F(some_from)(&x[q], b + q * g->ldb, n * T, L * T);
      *(VU *)(pairs + u * g->N + j) = __builtin_convertvector(x[0], GEMM_F(w)) | __builtin_convertvector(x[1], GEMM_F(w)) << 16;
    }
  GEMM_F(turn32)(turned, pairs, g->N * 4, units, g->N);
}

GEMM_NOINLINE int GEMM_F(run_tall)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  int64_t from, to;
  ridge_share(g->M, 4, ctx->tid, ctx->nthreads, &from, &to);
  if (from >= to) return RIDGE_OK;
  GEMM_S sum[GEMM_DOTS_SUMS] __attribute__((aligned(64))), turned[GEMM_DOTS_SUMS + 16] __attribute__((aligned(64)));
  char *room = (char *)ctx->workspace + ctx->tid * GEMM_F(tall_bytes)(g);
  const GEMM_T *columns = g->B, *a = (const GEMM_T *)g->A + from * g->lda;
  int64_t pitch = g->ldb;
  if (!g->trans_b) {
    char *at = room + gemm_ceil(GEMM_F(dots_bytes)(g->N, g->K), 64);
    GEMM_F(tall_turn)((uint32_t *)at, (uint32_t *)(at + GEMM_F(tall_turned)(g)), g);
    columns = (const GEMM_T *)at, pitch = (g->K + 1) / 2 * 2;
  }
  GEMM_F(dots) d = GEMM_F(pack_dots)(columns, pitch, 0, g->N, g->K, room);
  const int64_t cols = GEMM_F(dots_cols)(g->N), ld = GEMM_F(dots_ld)(g->N), reads = (to - from) * g->lda * (int64_t)sizeof(GEMM_T);
  GEMM_F(dots_reading)(&d, reads, ctx), d.asks &= reads > GEMM_DOTS_NEAR;
  for (int64_t i = from, n; i < to; i += n, a += n * g->lda) {
    n = gemm_min(cols, to - i);
    GEMM_F(dots_sum)(&d, a, g->lda, n, to - i, sum, ld);
    if (g->N > 1) GEMM_F(turn32)((uint32_t *)turned, sum, ld * 4, g->N, n);
    GEMM_F(finish)(g, i, 0, n, g->N, g->N > 1 ? turned : sum, g->N, NULL, 0);
  }
  return RIDGE_OK;
}
#endif
