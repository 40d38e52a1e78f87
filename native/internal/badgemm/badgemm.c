// GEMM kernels that are wrong on purpose: the verifier must catch each. One thread works.
#include "badgemm.h"

static int gemm(const ridge_gemm_args *g, const ridge_ctx *ctx, int64_t n, int64_t skip_k, int64_t drop_row) {
  if (ctx->tid != 0) return RIDGE_OK;
  const float *A = g->A, *B = g->B;
  float *C = g->C;
  for (int64_t i = 0; i < g->M; i++)
    for (int64_t j = 0; j < n; j++) {
      float s = 0;
      for (int64_t k = 0; k < g->K - skip_k; k++) s += A[i * g->lda + k] * B[k * g->ldb + j];
      C[i * g->ldc + j] = i == drop_row ? 0 : s;
    }
  return RIDGE_OK;
}

int ridge_bad_last_column(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *g = args;
  return gemm(g, ctx, g->N - 1, 0, -1);
}

int ridge_bad_last_k(const void *args, const ridge_ctx *ctx) { return gemm(args, ctx, ((const ridge_gemm_args *)args)->N, 1, -1); }

int ridge_bad_last_row(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *g = args;
  return gemm(g, ctx, g->N, 0, g->M - 1);
}

int ridge_bad_constant(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *g = args;
  if (ctx->tid != 0) return RIDGE_OK;
  for (int64_t i = 0; i < g->M; i++)
    for (int64_t j = 0; j < g->N; j++) ((float *)g->C)[i * g->ldc + j] = 1;
  return RIDGE_OK;
}

// Right, but writes one element past the end of each row.
int ridge_bad_overrun(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *g = args;
  int rc = gemm(g, ctx, g->N, 0, -1);
  if (ctx->tid == 0)
    for (int64_t i = 0; i < g->M; i++) ((float *)g->C)[i * g->ldc + g->N] = 0;
  return rc;
}

// Right, but rounded to bf16 after every 8 products: partial sums lose their low bits.
int ridge_bad_rounding(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *g = args;
  if (ctx->tid != 0) return RIDGE_OK;
  const float *A = g->A, *B = g->B;
  for (int64_t i = 0; i < g->M; i++)
    for (int64_t j = 0; j < g->N; j++) {
      float s = 0;
      for (int64_t k = 0; k < g->K; k++) {
        s += A[i * g->lda + k] * B[k * g->ldb + j];
        if (k % 8 == 7) s = ridge_bf16_to_float(ridge_float_to_bf16(s));
      }
      ((float *)g->C)[i * g->ldc + j] = s;
    }
  return RIDGE_OK;
}

// The control: no fault.
int ridge_bad_none(const void *args, const ridge_ctx *ctx) { return gemm(args, ctx, ((const ridge_gemm_args *)args)->N, 0, -1); }

#define BAD(name) {#name, "gemm", "fp32", "fp32", RIDGE_ISA_NONE, -1, 4, 1, ridge_##name, NULL, NULL},
static const ridge_kernel table[] = {BAD(bad_last_column) BAD(bad_last_k) BAD(bad_last_row) BAD(bad_constant)
                                         BAD(bad_overrun) BAD(bad_rounding) BAD(bad_none)};

const ridge_kernel *ridge_bad_table(void) { return table; }
int ridge_bad_table_len(void) { return sizeof table / sizeof *table; }
