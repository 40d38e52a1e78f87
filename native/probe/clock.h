#ifndef RIDGE_CLOCK_H
#define RIDGE_CLOCK_H
#include "../include/ridge.h"

typedef struct ridge_clock_args {
  int64_t multiplications; // a multiple of 16
  uint64_t *sink;
} ridge_clock_args;

// Cycles of one dependent multiplication.
#define RIDGE_MUL_LATENCY 3

int ridge_clock_chain(const void *args, const ridge_ctx *ctx);
#endif
