// load_portable: the clock chain with multiply-adds beside it, on every thread.
//
// Each turn is 24 times one dependent step of the clock's chain (3 cycles: an imul, on arm64
// three additions) and per_mul
// independent multiply-adds on the widest registers of the instruction set. The chain is the
// critical path as long as the multiply-adds need fewer than 3 cycles: with u units of one
// per cycle, per_mul < 3u. per_mul = 2 fits one unit (67 % busy), 4 fits two (67 %). 5 would
// fill Intel's two ports together with the imul, which shares one of them, and the chain
// would wait; 4 leaves it a slot in each 3 cycles. per_mul = 0, without the chain, counts
// units: 12 independent accumulators, 48 multiply-adds per turn.
// Accumulators take turns: one is used again after 12/4 = 3 steps, 9 cycles, more
// than any multiply-add's latency. They grow by 1 and stop at 2^24 (fp32): never infinite,
// never denormal. x86: vfmadd231ps on ymm or zmm; arm64: fmla v.4s.
// Version 1: as described.
#include "load.h"
#include "peak.h"

#if defined(__x86_64__)
#define F(r, c) "vfmadd231ps %%" r "12, %%" r "12, %%" r #c "\n\t"
#define ZERO(r, c) "vxorps %%xmm" #c ", %%xmm" #c ", %%xmm" #c "\n\t"
#define INIT(r) "vbroadcastss %[one], %%" r "12\n\t"
#define AGAIN "dec %[n]\n\tjnz 1b\n\t"
#define END "vzeroupper\n\t"
#define MEMORY "m"
#define CLOBBER RIDGE_XMM0_15
#elif defined(__aarch64__)
#define F(r, c) "fmla v" #c ".4s, v12.4s, v12.4s\n\t"
#define ZERO(r, c) "movi v" #c ".16b, #0\n\t"
#define INIT(r) "ld1r {v12.4s}, %[one]\n\t"
#define AGAIN "subs %[n], %[n], #1\n\tb.ne 1b\n\t"
#define END
#define MEMORY "Q"
#define CLOBBER RIDGE_V0_31
#endif

#ifdef RIDGE_CLOCK_STEP
#define TWO(r, a, b) RIDGE_CLOCK_STEP F(r, a) F(r, b)
#define TWO_12(r) TWO(r, 0, 1) TWO(r, 2, 3) TWO(r, 4, 5) TWO(r, 6, 7) TWO(r, 8, 9) TWO(r, 10, 11)
#define FOUR(r, a, b, c, d) RIDGE_CLOCK_STEP F(r, a) F(r, b) F(r, c) F(r, d)
#define FOUR_12(r) FOUR(r, 0, 1, 2, 3) FOUR(r, 4, 5, 6, 7) FOUR(r, 8, 9, 10, 11)
#define EACH(X, r) X(r, 0) X(r, 1) X(r, 2) X(r, 3) X(r, 4) X(r, 5) X(r, 6) X(r, 7) X(r, 8) X(r, 9) X(r, 10) X(r, 11)

#define LOOP(r, text)                                                          \
  __asm__ volatile(INIT(r) EACH(ZERO, r) ".p2align 6\n1:\n\t" text AGAIN END                              \
                   : [n] "+r"(n), [x] "+r"(x)                                  \
                   : [f] "r"(RIDGE_CLOCK_FACTOR), [one] MEMORY(one)            \
                   : "cc", CLOBBER)
#define KERNEL(name, r)                                                        \
  int ridge_load_##name(const void *args, const ridge_ctx *ctx) {              \
    const ridge_load_args *p = args;                                           \
    const float one = 1;                                                       \
    int64_t n = p->turns;                                                      \
    uint64_t x = 3;                                                            \
    (void)ctx;                                                                 \
    switch (p->per_mul) {                                                      \
      case 0: LOOP(r, RIDGE_4TIMES(EACH(F, r))); return RIDGE_OK;                  \
      case 2: LOOP(r, RIDGE_4TIMES(TWO_12(r))); return RIDGE_OK;               \
      case 4: LOOP(r, RIDGE_8TIMES(FOUR_12(r))); return RIDGE_OK;              \
    }                                                                          \
    return RIDGE_E_ARG;                                                        \
  }

#if defined(__x86_64__)
KERNEL(avx2, "ymm")
KERNEL(avx512, "zmm")
#else
KERNEL(neon, "v")
#endif
#endif
