// Products of a batch one after another (template: GEMM_TA, GEMM_TB, GEMM_TC).

// Moves from one product of a batch to the one n further on. Requantised elements of C are bytes.
RIDGE_INLINE void GEMM_F(advance)(ridge_gemm_args *g, int64_t n) {
  g->A = (const GEMM_TA *)g->A + n * g->stride_a;
  g->B = (const GEMM_TB *)g->B + n * g->stride_b;
  g->C = (char *)g->C + n * g->stride_c * (g->scale ? 1 : (int64_t)sizeof(GEMM_TC));
  if (g->D) g->D = (const GEMM_TC *)g->D + n * g->stride_d;
  if (g->residual) g->residual = (const GEMM_TC *)g->residual + n * g->stride_c;
}

#ifndef GEMM_BATCH
// Returns after the team has done each product: by threads, or one after another with a barrier between two, as they
// share the workspace. slice: bytes of workspace of each thread, or 0 for the latter.
#define GEMM_BATCH(g, ctx, slice, one)                                       \
  ridge_gemm_args each = *(g);                                               \
  ridge_ctx own = *(ctx);                                                    \
  const int64_t part = (slice);                                              \
  int64_t from = 0, to = (g)->batch;                                         \
  if (part > 0) {                                                            \
    ridge_share((g)->batch, 1, (ctx)->tid, (ctx)->nthreads, &from, &to);     \
    own.workspace = (char *)own.workspace + own.tid * part;                  \
    own.workspace_bytes -= own.tid * part;                                   \
    own.tid = 0, own.nthreads = 1;                                           \
  }                                                                          \
  int rc = RIDGE_OK;                                                         \
  GEMM_F(advance)(&each, from);                                              \
  for (int64_t i = from; i < to && rc == RIDGE_OK; i++) {                    \
    if (i > from) ridge_barrier(&own);                                       \
    rc = one(&each, &own);                                                   \
    GEMM_F(advance)(&each, 1);                                               \
  }                                                                          \
  return rc
#endif
