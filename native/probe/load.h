// The clock chain under load (load.c): not an op, but the second half of clock.go.
#ifndef RIDGE_PROBE_LOAD_H
#define RIDGE_PROBE_LOAD_H
#include "../include/ridge_probe.h"

typedef struct ridge_load_args {
  int64_t turns;
  int32_t per_mul; // 0: RIDGE_LOAD_ALONE multiply-adds and no chain; 2 or 4: RIDGE_LOAD_CHAIN steps of the clock
} ridge_load_args;

#define RIDGE_LOAD_ALONE 48 // multiply-adds per turn without the chain
#define RIDGE_LOAD_CHAIN 24 // steps of the clock per turn, with per_mul multiply-adds each

int ridge_load_avx2(const void *args, const ridge_ctx *ctx);
int ridge_load_avx512(const void *args, const ridge_ctx *ctx);
int ridge_load_neon(const void *args, const ridge_ctx *ctx);
#endif
