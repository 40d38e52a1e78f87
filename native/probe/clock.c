// clock_portable: a chain of dependent 64-bit multiplications on the first thread.
//
// x <- x*f mod 2^64, 3 cycles each: imul on every x86 core since Nehalem and Zen
// (uops.info), mul on Neoverse N1/V1/V2 (Arm optimisation guides). Dependent add-immediates
// would not do: newer cores fold them at rename. The final x proves the number of
// multiplications. On other architectures the latency is not known and the kernel refuses.
// Version 2: multiplies by a factor; squaring, as version 1 did, ends at 1 after 62 steps.
#include "../include/ridge_probe.h"

int ridge_clock_portable(const void *args, const ridge_ctx *ctx) {
  const ridge_clock_args *p = args;
  if (ctx->tid != 0) return RIDGE_OK;
  uint64_t x = 3, f = RIDGE_CLOCK_FACTOR;
#if defined(__x86_64__)
#define MUL "imulq %[f], %[x]\n\t"
#elif defined(__aarch64__)
#define MUL "mul %[x], %[x], %[f]\n\t"
#endif
#ifdef MUL
  for (int64_t i = 0; i < p->multiplications; i += 16)
    __asm__ volatile(MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL MUL : [x] "+r"(x) : [f] "r"(f) : "cc");
#else
  return RIDGE_E_SYSTEM;
#endif
  *p->result = (double)(x >> 11);
  return RIDGE_OK;
}
