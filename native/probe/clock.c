// clock_portable: a chain of dependent steps of 3 cycles on the first thread.
//
// x86-64: x <- x*f mod 2^64, imul, 3 cycles on Intel's Core since Nehalem and on every Zen
// (uops.info; op.ClockStepCycles names slower cores). arm64: three times x <- x + f, one cycle
// each. The final x proves the number of steps. On other architectures no latency is known and
// the kernel refuses.
// Version 2: multiplies by a factor; squaring, as version 1 did, ends at 1 after 62 steps.
// Version 3: arm64 adds, because mul takes 4 cycles on Neoverse N1 and 2 on V2.
#include "../include/ridge_probe.h"

int ridge_clock_portable(const void *args, const ridge_ctx *ctx) {
  const ridge_clock_args *p = args;
  if (ctx->tid != 0) return RIDGE_OK;
  uint64_t x = 3, f = RIDGE_CLOCK_FACTOR;
#ifdef RIDGE_CLOCK_STEP
#define STEPS_4 RIDGE_CLOCK_STEP RIDGE_CLOCK_STEP RIDGE_CLOCK_STEP RIDGE_CLOCK_STEP
  for (int64_t i = 0; i < p->steps; i += 16)
    __asm__ volatile(STEPS_4 STEPS_4 STEPS_4 STEPS_4 : [x] "+r"(x) : [f] "r"(f) : "cc");
#else
  return RIDGE_E_SYSTEM;
#endif
  *p->result = (double)(x >> 11);
  return RIDGE_OK;
}
