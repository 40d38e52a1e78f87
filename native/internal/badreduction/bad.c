// Sums with planted faults, for fp32 over all elements.
#include "bad.h"

// Leaves out the elements after the last whole vector of 8.
static int skips_tail(const void *args, const ridge_ctx *ctx) {
  const ridge_reduction_args *g = args;
  const float *x = g->x;
  double s = 0;
  if (ctx->tid != 0) return RIDGE_OK;
  for (int64_t i = 0; i < g->rows * g->cols / 8 * 8; i++) s += x[i];
  *(float *)g->y = (float)s;
  return RIDGE_OK;
}

// Adds forwards in one run and backwards in the next, as a sum whose order depends on which
// thread comes first would.
static int order_varies(const void *args, const ridge_ctx *ctx) {
  static int runs;
  const ridge_reduction_args *g = args;
  const float *x = g->x;
  const int64_t n = g->rows * g->cols;
  float s = 0;
  if (ctx->tid != 0) return RIDGE_OK;
  if (runs++ & 1)
    for (int64_t i = n - 1; i >= 0; i--) s += x[i];
  else
    for (int64_t i = 0; i < n; i++) s += x[i];
  *(float *)g->y = s;
  return RIDGE_OK;
}

static const ridge_kernel table[] = {
    {"sum_skips_tail", "sum", "fp32", "fp32", RIDGE_ISA_NONE, -1, 4, 1, skips_tail, NULL, NULL},
    {"sum_order_varies", "sum", "fp32", "fp32", RIDGE_ISA_NONE, -1, 4, 1, order_varies, NULL, NULL},
};

const ridge_kernel *ridge_badreduction_table(void) { return table; }
int ridge_badreduction_table_len(void) { return sizeof table / sizeof *table; }
