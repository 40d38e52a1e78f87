// z[n] = a * x[n] + b * y[n], contiguous.
//
// Preconditions: none; x, y and z do not overlap. FLOP: 3n. Bytes: 12n.
// Limit: memory. One pass with unit stride over three arrays, each thread on a contiguous
// share in whole cache lines, leaves the order of the accesses to the prefetchers.
// Source of the idea: STREAM triad.
#include "saxpby.h"

int ridge_saxpby_fp32_portable(const void *args, const ridge_ctx *ctx) {
  const ridge_saxpby_args *g = args;
  int64_t from, to;
  ridge_share(g->n, RIDGE_CACHE_LINE / sizeof(float), ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t i = from; i < to; i++) g->z[i] = g->a * g->x[i] + g->b * g->y[i];
  return RIDGE_OK;
}
