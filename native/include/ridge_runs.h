// Where kernels that read several runs of memory side by side (ridge_ctx) do so.
#ifndef RIDGE_RUNS_H
#define RIDGE_RUNS_H

#include "ridge.h"

// Bytes of the arrays of a thread from which on they come from memory, for the processors that `runs` names. Ice Lake (48 MiB of L3 shared with strangers), sum
// and max, time as from a cache over time by runs: one thread 12 MiB 0.99, 14 0.99, 16 1.04, 20 1.4 to 1.9; two threads 16 MiB 0.94 to 0.97, 24 1.01, 32 1.14 to 1.18.
#define RIDGE_HELD (12ll << 20)

RIDGE_INLINE int ridge_from_memory(int64_t bytes, const ridge_ctx *ctx) { return ctx->runs > 1 && bytes > ctx->nthreads * RIDGE_HELD; }

#endif
