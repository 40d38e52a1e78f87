// peak_{fp64,fp32}_sse2_amd64: separate multiplications and additions on 128-bit registers.
//
// 14 chains in xmm0..13: x <- x*a, x <- x+b, x <- x*a, x <- x-b with a = -1 (xmm14) and b
// (xmm15); 56 instructions per turn, each one operation per lane. No bytes.
// Limit: the floating-point ports. Zen has two multipliers and two adders beside each other
// (4 instructions per cycle, latency 3 + 3: 12 chains of a pair suffice), Intel two ports
// for both (latency 4 + 4: 8 chains). Latencies: uops.info.
// Version 1: as described. Zen 3: 4.00 instructions a cycle (AVX2's multiply-adds beside it: 2.00).
// Two groups of seven chains, one multiplying while the other adds, reached 3.82 and were dropped.
#include "peak.h"

#define MUL(c, t) "mul" t " %%xmm14, %%xmm" #c "\n\t"
#define ADD(c, t) "add" t " %%xmm15, %%xmm" #c "\n\t"
#define SUB(c, t) "sub" t " %%xmm15, %%xmm" #c "\n\t"
#define ZERO(c, t) "pxor %%xmm" #c ", %%xmm" #c "\n\t"
#define STORE(c, t) "movups %%xmm" #c ", 16*" #c "(%[acc])\n\t"
#define ALL(X, t) X(0, t) X(1, t) X(2, t) X(3, t) X(4, t) X(5, t) X(6, t) X(7, t) X(8, t) X(9, t) X(10, t) X(11, t) X(12, t) X(13, t)

#define RUN(T, name, t)                                                                    \
  RIDGE_INLINE void name(int64_t turns, const void *operands, T *acc) {                    \
    __asm__ volatile("movups 0(%[regs]), %%xmm14\n\tmovups 32(%[regs]), %%xmm15\n\t"           \
                     ALL(ZERO, t)                                                          \
                     ".p2align 6\n1:\n\t"                                                  \
                     ALL(MUL, t) ALL(ADD, t) ALL(MUL, t) ALL(SUB, t)                       \
                     "dec %[n]\n\tjnz 1b\n\t"                                              \
                     ALL(STORE, t)                                                         \
                     : [n] "+r"(turns)                                                     \
                     : [regs] "r"(operands), [acc] "r"(acc)                                  \
                     : "memory", "cc", RIDGE_XMM0_15);                                     \
  }

RUN(double, run_fp64, "pd")
RUN(float, run_fp32, "ps")
RIDGE_PEAK_KERNEL(peak_fp64_sse2_amd64, , double, 14 * 2, 56, run_fp64)
RIDGE_PEAK_KERNEL(peak_fp32_sse2_amd64, , float, 14 * 4, 56, run_fp32)
