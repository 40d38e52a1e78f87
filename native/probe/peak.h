// What the arithmetic peaks share.
//
// A peak kernel runs chunks of p->chunk instructions; chunks are shared over the team, each
// leaves one number in result, so neither a barrier nor a sum over threads is needed.
//
// Proof of the count: every accumulator starts at a known value and every instruction adds
// to it products of small integers (fused forms), or negates it and adds one (SSE2 and
// portable: x <- x*(-1) + b, x <- x*(-1) - b, so |x| grows by b per step and a
// multiplication left out shows too). All values stay inside the accumulator's exact range
// for a whole chunk. The sum over all lanes of all accumulators divided by what one step
// adds (p->step_sum) is the number of steps. Operands differ between lanes and between
// consecutive instructions (a0, a1 and b0, b1 in turn), so that the multipliers' inputs
// toggle, and come from memory, so that no compiler can know them.
//
// Cost of the proof: one store of the accumulators and one sum over a few hundred lanes per
// chunk, 100 to 400 cycles of 350,000 or more: under 0.1 %.
#ifndef RIDGE_PEAK_H
#define RIDGE_PEAK_H

#include "../include/ridge_probe.h"

#define RIDGE_ALIGNED __attribute__((aligned(64)))

// Instructions of chunk i: a whole chunk, or what is left for the last.
RIDGE_INLINE int64_t peak_chunk(const ridge_probe_args *p, int64_t i) {
  int64_t left = p->instructions - i * p->chunk;
  return left < p->chunk ? left : p->chunk;
}

// The share of the chunks for this thread.
RIDGE_INLINE void peak_share(const ridge_probe_args *p, const ridge_ctx *ctx, int64_t *from, int64_t *to) {
  ridge_share((p->instructions + p->chunk - 1) / p->chunk, 1, ctx->tid, ctx->nthreads, from, to);
}

// Instructions that a sum over all accumulators proves.
RIDGE_INLINE double peak_proved(const ridge_probe_args *p, double sum) {
  return sum / p->step_sum * (double)p->step_instructions;
}

// The sum of n lanes, n a multiple of 4; eight partial sums hide the latency of an addition.
// The order does not matter: all sums are exact.
#define RIDGE_PEAK_SUM(T)                                                    \
  RIDGE_INLINE double peak_sum_##T(const T *acc, int64_t n) {                \
    double part[8] = {0};                                                    \
    int64_t k = 0;                                                           \
    for (; k + 8 <= n; k += 8)                                               \
      for (int j = 0; j < 8; j++) part[j] += (double)acc[k + j];             \
    for (int j = 0; k + j < n; j++) part[j] += (double)acc[k + j];           \
    return ((part[0] + part[1]) + (part[2] + part[3])) +                     \
           ((part[4] + part[5]) + (part[6] + part[7]));                      \
  }
RIDGE_PEAK_SUM(double)
RIDGE_PEAK_SUM(float)
RIDGE_PEAK_SUM(int32_t)

// One kernel: target attribute, type T of an accumulator lane, number of lanes in all
// accumulators (a multiple of 4), instructions per turn of the loop, and the function that
// runs turns of it from the operands and stores the accumulators.
#define RIDGE_PEAK_KERNEL(name, target, T, lanes, turn, run)                 \
  target int ridge_##name(const void *args, const ridge_ctx *ctx) {          \
    const ridge_probe_args *p = args;                                        \
    T acc[lanes] RIDGE_ALIGNED;                                              \
    int64_t from, to;                                                        \
    peak_share(p, ctx, &from, &to);                                          \
    for (int64_t i = from; i < to; i++) {                                    \
      run(peak_chunk(p, i) / (turn), p->operands, acc);                      \
      p->result[i] = peak_proved(p, peak_sum_##T(acc, lanes));               \
    }                                                                        \
    return RIDGE_OK;                                                         \
  }

// Assembly text for chains 0..n-1: X(c, a, b, ...) with the operand registers in turn.
#define RIDGE_CHAINS4(X, a0, a1, b0, b1, ...) \
  X(0, a0, b0, __VA_ARGS__) X(1, a1, b0, __VA_ARGS__) X(2, a0, b1, __VA_ARGS__) X(3, a1, b1, __VA_ARGS__)
#define RIDGE_CHAINS12(X, a0, a1, b0, b1, ...)                                                           \
  RIDGE_CHAINS4(X, a0, a1, b0, b1, __VA_ARGS__)                                                          \
  X(4, a0, b0, __VA_ARGS__) X(5, a1, b0, __VA_ARGS__) X(6, a0, b1, __VA_ARGS__) X(7, a1, b1, __VA_ARGS__) \
  X(8, a0, b0, __VA_ARGS__) X(9, a1, b0, __VA_ARGS__) X(10, a0, b1, __VA_ARGS__) X(11, a1, b1, __VA_ARGS__)
#define RIDGE_CHAINS24(X, a0, a1, b0, b1, ...)                                                               \
  RIDGE_CHAINS12(X, a0, a1, b0, b1, __VA_ARGS__)                                                             \
  X(12, a0, b0, __VA_ARGS__) X(13, a1, b0, __VA_ARGS__) X(14, a0, b1, __VA_ARGS__) X(15, a1, b1, __VA_ARGS__) \
  X(16, a0, b0, __VA_ARGS__) X(17, a1, b0, __VA_ARGS__) X(18, a0, b1, __VA_ARGS__) X(19, a1, b1, __VA_ARGS__) \
  X(20, a0, b0, __VA_ARGS__) X(21, a1, b0, __VA_ARGS__) X(22, a0, b1, __VA_ARGS__) X(23, a1, b1, __VA_ARGS__)

// The same for kernels whose product needs a register of its own (vpmaddwd, vpaddd): four
// products, then their four sums. In turn (product, sum, product, sum) the additions of Zen 4
// may settle on the multipliers' ports and stay there: at half the speed in some runs.
#define RIDGE_MADD4(P, S, c0, c1, c2, c3, a0, a1, b0, b1, t0, t1, t2, t3) \
  P(c0, a0, b0, t0) P(c1, a1, b0, t1) P(c2, a0, b1, t2) P(c3, a1, b1, t3) \
  S(c0, a0, b0, t0) S(c1, a1, b0, t1) S(c2, a0, b1, t2) S(c3, a1, b1, t3)

#define RIDGE_TWICE(s) s s
#define RIDGE_3TIMES(s) s s s
#define RIDGE_4TIMES(s) RIDGE_TWICE(RIDGE_TWICE(s))
#define RIDGE_8TIMES(s) RIDGE_TWICE(RIDGE_4TIMES(s))

#define RIDGE_XMM0_15                                                                                          \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
      "xmm13", "xmm14", "xmm15"
#define RIDGE_XMM16_31                                                                                              \
  "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",     \
      "xmm28", "xmm29", "xmm30", "xmm31"
#define RIDGE_V0_31                                                                                              \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",  \
      "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"

#endif
