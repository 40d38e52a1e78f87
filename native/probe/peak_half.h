// The proof for half-precision accumulators, which hold integers only up to 2048 exactly.
//
// A block is at most 4096 steps of 24 chains: every accumulator starts at -2048 and each
// instruction adds a*b = 1. After the block the chains are converted to 16-bit integers and
// added up in two registers of 12 chains each, modulo 2^16: with the start taken back a lane
// holds at most 12*4096 = 49152. Cost: 24 conversions and 24 additions for 98304 multiply-adds, 0.05 %, plus the widening of two registers.
#ifndef RIDGE_PEAK_HALF_H
#define RIDGE_PEAK_HALF_H

#include "peak.h"

#define RIDGE_HALF_TURNS 1024        // of 4 steps
#define RIDGE_HALF_MINUS_2048 0xE800 // fp16 bits

// Adds the two registers of n 16-bit sums of one block to the integer sum.
RIDGE_INLINE int64_t half_sum(const uint16_t *tot, int64_t n) {
  uint32_t sum = 0; // 2 * 128 lanes * 49152 at most
  for (int64_t k = 0; k < 2 * n; k++) sum += (uint16_t)(tot[k] + 12 * 2048);
  return sum;
}

// One kernel: lanes of one register, and run(turns, operands, tot).
#define RIDGE_PEAK_HALF_KERNEL(name, target, lanes, run)                        \
  target int ridge_##name(const void *args, const ridge_ctx *ctx) {             \
    const ridge_probe_args *p = args;                                           \
    uint16_t tot[2 * 128] RIDGE_ALIGNED;                                        \
    int64_t from, to, n = (lanes);                                              \
    peak_share(p, ctx, &from, &to);                                             \
    for (int64_t i = from; i < to; i++) {                                       \
      int64_t sum = 0;                                                          \
      for (int64_t left = peak_chunk(p, i) / 96; left > 0;) {                   \
        int64_t turns = left < RIDGE_HALF_TURNS ? left : RIDGE_HALF_TURNS;      \
        run(turns, p->operands, tot);                                           \
        sum += half_sum(tot, n);                                                \
        left -= turns;                                                          \
      }                                                                         \
      p->result[i] = peak_proved(p, (double)sum);                               \
    }                                                                           \
    return RIDGE_OK;                                                            \
  }

#endif
