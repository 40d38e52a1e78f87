// requantize, element by element. Formula, preconditions and costs: requantize.h.
#include "../include/ridge_elementwise.h"
#include "../include/ridge_requant.h"

int ridge_requantize_int8_portable(const void *args, const ridge_ctx *ctx) {
  const ridge_elementwise_args *g = args;
  const int32_t *a = g->a;
  const float *scale = g->p[0], low = (float)g->s;
  int8_t *y = g->y;
  int64_t from, to;
  ridge_share(g->n, 64, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t i = from; i < to; i++) y[i] = ridge_requant_one(a[i], scale[i / g->inner % g->channels], low);
  return RIDGE_OK;
}
