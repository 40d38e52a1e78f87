#ifndef RIDGE_FMAPEAK_H
#define RIDGE_FMAPEAK_H
#include "../../include/ridge.h"

// args: int64_t iterations > 0. Needs AVX2 and FMA, or NEON.
int ridge_fmapeak_fp32(const void *args, const ridge_ctx *ctx);
int ridge_fmapeak_fp64(const void *args, const ridge_ctx *ctx);
// FLOP of one iteration of one thread for elements of that many bytes.
int64_t ridge_fmapeak_flops(int bytes);
#endif
