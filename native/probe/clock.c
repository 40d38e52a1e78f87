#include "clock.h"

// A chain of dependent 64-bit multiplications: imul has a latency of 3 cycles on every x86
// core since Nehalem and Zen (uops.info), mul 3 on Neoverse N1/V1/V2 (Arm optimisation
// guides). Dependent add-immediates would not do: newer cores fold them at rename.
int ridge_clock_chain(const void *args, const ridge_ctx *ctx) {
  const ridge_clock_args *a = args;
  if (ctx->tid != 0) return RIDGE_OK;
  uint64_t x = 3;
  for (int64_t i = 0; i < a->multiplications; i += 16) {
#if defined(__x86_64__)
#define MUL "imulq %0, %0\n\t"
#elif defined(__aarch64__)
#define MUL "mul %0, %0, %0\n\t"
#endif
#ifdef MUL
    __asm__ volatile(MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL : "+r"(x));
#else
    return RIDGE_E_SYSTEM;
#endif
  }
  *a->sink = x;
  return RIDGE_OK;
}
