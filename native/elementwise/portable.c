// unary_*_portable, binary_*_portable, channel_*_portable: one element at a time with the C
// library's functions, in fp32.
//
// The formulas are those of body.inc; any n and alignment. Bound by the library calls (5 to
// 20 ns each), not by memory: the fallback for unknown chips and a second opinion on the
// vector functions.
#include <math.h>

#include "../include/ridge_elementwise.h"
#include "../include/ridge_half.h"

// 1/(1 + exp(-x)) without an exponential that overflows: x times it has digits down to the least normal numbers.
static float logistic(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0 ? e : 1) / (1 + e);
}

static float function(int op, float x, float s) {
  const int gated = op == RIDGE_EW_GELU || op == RIDGE_EW_GELU_TANH || op == RIDGE_EW_SILU;
  if (gated && x == -INFINITY) return -0.0f; // the limit: -infinity times 0 is NaN
  switch (op) {
    case RIDGE_EW_RELU: return x < 0 ? 0 : x;
    case RIDGE_EW_GELU: return 0.5f * x * erfcf(-x * 0.70710678f);
    case RIDGE_EW_GELU_TANH: return x * logistic(1.59576912f * x * (1 + 0.044715f * x * x));
    case RIDGE_EW_SIGMOID: return logistic(x);
    case RIDGE_EW_TANH: return tanhf(x);
    case RIDGE_EW_EXP: return expf(x);
    case RIDGE_EW_SQRT_ABS: return sqrtf(fabsf(x) + 1e-8f);
    case RIDGE_EW_SIN: return sinf(x);
    case RIDGE_EW_COS: return cosf(x);
    case RIDGE_EW_SILU: return x * logistic(x);
    default: return x * s; // RIDGE_EW_SCALE
  }
}

#define IDENTITY(x) (x)

#define ELEMENTWISE(D, T, WIDEN, ROUND)                                                                     \
  int ridge_unary_##D##_portable(const void *args, const ridge_ctx *ctx) {                                  \
    const ridge_elementwise_args *g = args;                                                                 \
    if (g->op < RIDGE_EW_RELU || g->op > RIDGE_EW_SCALE) return RIDGE_E_ARG;                                \
    const T *a = g->a;                                                                                      \
    T *y = g->y;                                                                                            \
    int64_t from, to;                                                                                       \
    ridge_share(g->n, 64, ctx->tid, ctx->nthreads, &from, &to);                                             \
    for (int64_t i = from; i < to; i++) y[i] = ROUND(function(g->op, WIDEN(a[i]), (float)g->s));            \
    return RIDGE_OK;                                                                                        \
  }                                                                                                         \
  int ridge_binary_##D##_portable(const void *args, const ridge_ctx *ctx) {                                 \
    const ridge_elementwise_args *g = args;                                                                 \
    const T *a = g->a, *b = g->b;                                                                           \
    T *y = g->y;                                                                                            \
    int64_t from, to;                                                                                       \
    ridge_share(g->n, 64, ctx->tid, ctx->nthreads, &from, &to);                                             \
    if (g->op == RIDGE_EW_ADD)                                                                              \
      for (int64_t i = from; i < to; i++) y[i] = ROUND(WIDEN(a[i]) + WIDEN(b[i]));                          \
    else if (g->op == RIDGE_EW_MULTIPLY)                                                                    \
      for (int64_t i = from; i < to; i++) y[i] = ROUND(WIDEN(a[i]) * WIDEN(b[i]));                          \
    else if (g->op == RIDGE_EW_ADD_RELU)                                                                    \
      for (int64_t i = from; i < to; i++) y[i] = ROUND(function(RIDGE_EW_RELU, WIDEN(a[i]) + WIDEN(b[i]), 0)); \
    else return RIDGE_E_ARG;                                                                                \
    return RIDGE_OK;                                                                                        \
  }                                                                                                         \
  int ridge_channel_##D##_portable(const void *args, const ridge_ctx *ctx) {                                \
    const ridge_elementwise_args *g = args;                                                                 \
    const T *a = g->a, *p0 = g->p[0], *beta = g->p[1], *mean = g->p[2], *var = g->p[3];                     \
    T *y = g->y;                                                                                            \
    int64_t from, to;                                                                                       \
    ridge_share(g->n, 64, ctx->tid, ctx->nthreads, &from, &to);                                             \
    for (int64_t i = from; i < to; i++) {                                                                   \
      int64_t c = i / g->inner % g->channels;                                                               \
      float x = WIDEN(a[i]);                                                                                \
      if (g->op == RIDGE_EW_BIAS_ADD) y[i] = ROUND(x + WIDEN(p0[c]));                                       \
      else if (g->op == RIDGE_EW_BATCH_NORM)                                                                \
        y[i] = ROUND((x - WIDEN(mean[c])) / sqrtf(WIDEN(var[c]) + (float)g->s) * WIDEN(p0[c]) + WIDEN(beta[c])); \
      else return RIDGE_E_ARG;                                                                              \
    }                                                                                                       \
    return RIDGE_OK;                                                                                        \
  }

ELEMENTWISE(fp32, float, IDENTITY, IDENTITY)
ELEMENTWISE(bf16, ridge_bf16, ridge_bf16_to_float, ridge_float_to_bf16)
