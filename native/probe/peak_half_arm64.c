// peak_fp16_neon_arm64, peak_fp16_sve_arm64: multiply-adds of half precision.
//
// 24 chains in v0..23, acc <- acc + a*b, a in v24/25, b in v26/27, all of them 1 or -1 by
// lane; 96 instructions per turn. The proof is in peak_half.h. No bytes. Limit: two to four
// vector pipes of latency 4 (Arm software optimisation guides): 16 chains needed.
// Version 1: as described.
#include "peak_half.h"

// What lets the assembler take the instructions: a directive (it emits nothing) for gcc,
// the function's target for clang 14, whose directive knows no fp16.
#if defined(__clang__)
#define ARCH
#define HALF __attribute__((target("fullfp16,sve")))
#else
#define ARCH ".arch armv8.6-a+fp16+sve\n\t"
#define HALF
#endif
#define ALL(X) RIDGE_CHAINS24(X, 24, 25, 26, 27, )
#define PAIRS(X)                                                                          \
  X(0, 29) X(12, 30) X(1, 29) X(13, 30) X(2, 29) X(14, 30) X(3, 29) X(15, 30)             \
  X(4, 29) X(16, 30) X(5, 29) X(17, 30) X(6, 29) X(18, 30) X(7, 29) X(19, 30)             \
  X(8, 29) X(20, 30) X(9, 29) X(21, 30) X(10, 29) X(22, 30) X(11, 29) X(23, 30)

#define NEON_OP(c, a, b, x) "fmla v" #c ".8h, v" #a ".8h, v" #b ".8h\n\t"
#define NEON_START(c, a, b, x) "mov v" #c ".16b, v28.16b\n\t"
#define NEON_ADD(c, t) "fcvtzs v" #c ".8h, v" #c ".8h\n\tadd v" #t ".8h, v" #t ".8h, v" #c ".8h\n\t"

HALF static inline void run_neon(int64_t turns, const void *operands, uint16_t *tot) {
  __asm__ volatile(
      ARCH "ldp q24, q25, [%[regs]]\n\tldp q26, q27, [%[regs], #32]\n\t"
      "dup v28.8h, %w[start]\n\tmovi v29.16b, #0\n\tmovi v30.16b, #0\n\t"
      ALL(NEON_START)
      ".p2align 6\n1:\n\t"
      RIDGE_4TIMES(ALL(NEON_OP))
      "subs %[n], %[n], #1\n\tb.ne 1b\n\t"
      PAIRS(NEON_ADD)
      "stp q29, q30, [%[tot]]\n\t"
      : [n] "+r"(turns)
      : [regs] "r"(operands), [tot] "r"(tot), [start] "r"(RIDGE_HALF_MINUS_2048)
      : "memory", "cc", RIDGE_V0_31);
}

#define SVE_OP(c, a, b, x) "fmla z" #c ".h, p0/m, z" #a ".h, z" #b ".h\n\t"
#define SVE_START(c, a, b, x) "mov z" #c ".d, z28.d\n\t"
#define SVE_ADD(c, t) "fcvtzs z" #c ".h, p0/m, z" #c ".h\n\tadd z" #t ".h, z" #t ".h, z" #c ".h\n\t"

HALF static inline void run_sve(int64_t turns, const void *operands, uint16_t *tot) {
  __asm__ volatile(
      ARCH "ptrue p0.b\n\t"
      "ldr z24, [%[regs]]\n\tldr z25, [%[regs], #1, mul vl]\n\t"
      "ldr z26, [%[regs], #2, mul vl]\n\tldr z27, [%[regs], #3, mul vl]\n\t"
      "mov z28.h, %w[start]\n\tmov z29.h, #0\n\tmov z30.h, #0\n\t"
      ALL(SVE_START)
      ".p2align 6\n1:\n\t"
      RIDGE_4TIMES(ALL(SVE_OP))
      "subs %[n], %[n], #1\n\tb.ne 1b\n\t"
      PAIRS(SVE_ADD)
      "str z29, [%[tot]]\n\tstr z30, [%[tot], #1, mul vl]\n\t"
      : [n] "+r"(turns)
      : [regs] "r"(operands), [tot] "r"(tot), [start] "r"(RIDGE_HALF_MINUS_2048)
      : "memory", "cc", "p0", RIDGE_V0_31);
}

RIDGE_PEAK_HALF_KERNEL(peak_fp16_neon_arm64, HALF, 8, run_neon)
RIDGE_PEAK_HALF_KERNEL(peak_fp16_sve_arm64, HALF, p->vl / 16, run_sve)
