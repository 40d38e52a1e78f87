// Sums with planted faults.
#include "bad.h"

#include "../../include/ridge_half.h"

#define FP32(x) (x)

// Sums and means over all elements that leave some out: the last one, the last vector of 8, the
// last 3 of each thread's part, or one in the middle. The last thread adds what all threads would.
enum { LAST, VECTOR, TAILS, MIDDLE };

static int left_out(int64_t i, int64_t n, int32_t nthreads, int what) {
  int64_t from, to;
  switch (what) {
    case LAST: return i == n - 1;
    case VECTOR: return i >= n - 8;
    case MIDDLE: return i == n / 2;
  }
  for (int t = 0; t < nthreads; t++) {
    ridge_share(n, 256, t, nthreads, &from, &to);
    if (i >= to - 3 && i < to) return 1;
  }
  return 0;
}

#define SHORT(name, T, WIDEN, NARROW, what)                                     \
  static int name(const void *args, const ridge_ctx *ctx) {                     \
    const ridge_reduction_args *g = args;                                       \
    const T *x = g->x;                                                          \
    const int64_t n = g->rows * g->cols;                                        \
    double s = 0;                                                               \
    if (ctx->tid != 0) return RIDGE_OK;                                         \
    for (int64_t i = 0; i < n; i++)                                             \
      if (!left_out(i, n, ctx->nthreads, what)) s += WIDEN(x[i]);               \
    if (g->op == RIDGE_RD_MEAN) s /= (double)n;                                 \
    *(T *)g->y = NARROW((float)s);                                              \
    return RIDGE_OK;                                                            \
  }
SHORT(last_fp32, float, FP32, FP32, LAST)
SHORT(vector_fp32, float, FP32, FP32, VECTOR)
SHORT(tails_fp32, float, FP32, FP32, TAILS)
SHORT(middle_fp32, float, FP32, FP32, MIDDLE)
SHORT(last_bf16, ridge_bf16, ridge_bf16_to_float, ridge_float_to_bf16, LAST)
SHORT(vector_bf16, ridge_bf16, ridge_bf16_to_float, ridge_float_to_bf16, VECTOR)
SHORT(tails_bf16, ridge_bf16, ridge_bf16_to_float, ridge_float_to_bf16, TAILS)
SHORT(middle_bf16, ridge_bf16, ridge_bf16_to_float, ridge_float_to_bf16, MIDDLE)

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

#define LINE(name, dtype) {"without_" #name, "sum mean", dtype, "fp32", RIDGE_ISA_NONE, -1, 4, 1, name, NULL, NULL}
static const ridge_kernel table[] = {
    LINE(last_fp32, "fp32"), LINE(vector_fp32, "fp32"), LINE(tails_fp32, "fp32"), LINE(middle_fp32, "fp32"),
    LINE(last_bf16, "bf16"), LINE(vector_bf16, "bf16"), LINE(tails_bf16, "bf16"), LINE(middle_bf16, "bf16"),
    {"sum_order_varies", "sum", "fp32", "fp32", RIDGE_ISA_NONE, -1, 4, 1, order_varies, NULL, NULL},
};

const ridge_kernel *ridge_badreduction_table(void) { return table; }
int ridge_badreduction_table_len(void) { return sizeof table / sizeof *table; }
