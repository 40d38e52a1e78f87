// Products of a batch one after another (template: GEMM_TA, GEMM_TB, GEMM_TC).

// Moves from one product of a batch to the one n further on.
RIDGE_INLINE void GEMM_F(advance)(ridge_gemm_args *g, int64_t n) {
  g->A = (const GEMM_TA *)g->A + n * g->stride_a;
  g->B = (const GEMM_TB *)g->B + n * g->stride_b;
  g->C = (GEMM_TC *)g->C + n * g->stride_c;
  if (g->D) g->D = (const GEMM_TC *)g->D + n * g->stride_d;
  if (g->residual) g->residual = (const GEMM_TC *)g->residual + n * g->stride_c;
}

#ifndef GEMM_BATCH
// Returns after the team has done each product; a barrier between two, as they share the workspace.
#define GEMM_BATCH(g, ctx, one)                              \
  ridge_gemm_args each = *(g);                               \
  int rc = RIDGE_OK;                                         \
  for (int64_t i = 0; i < (g)->batch && rc == RIDGE_OK; i++) { \
    if (i > 0) ridge_barrier(ctx);                           \
    rc = one(&each, ctx);                                    \
    GEMM_F(advance)(&each, 1);                               \
  }                                                          \
  return rc
#endif
