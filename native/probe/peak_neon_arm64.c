// peak_{fp64,fp32}_neon_arm64, peak_int8_dotprod_arm64, peak_bf16_bf16arm_arm64,
// peak_{int8,u8s8}_i8mm_arm64: multiply-adds, dot products and small matrix products on
// 128-bit registers.
//
// 24 chains in v0..23, acc <- acc + a*b (sdot: 4 products per lane; bfmmla and [u]smmla:
// acc[2,2] += a[2,K]*b[2,K]^T, K = 4 or 8), a in v24/25, b in v26/27; 96 instructions per
// turn. No bytes. Limit: two (Neoverse N1) to four (V1, V2, Apple) vector pipes of latency 4
// (Arm software optimisation guides), bfmmla 5: 20 chains.
// Version 1: as described.
#include "peak.h"

#define ARCH ".arch armv8.6-a+dotprod+bf16+i8mm+fp16+sve\n\t" // names for the assembler; emits nothing
#define OP(c, a, b, op, d, s) op " v" #c "." d ", v" #a "." s ", v" #b "." s "\n\t"
#define ZERO(c, a, b, op, d, s) "movi v" #c ".16b, #0\n\t"
#define STORE(c, a, b, op, d, s) "str q" #c ", [%[acc], #16*" #c "]\n\t"
#define ALL(X, op, d, s) RIDGE_CHAINS24(X, 24, 25, 26, 27, op, d, s)

#define RUN(T, name, op, d, s)                                                               \
  RIDGE_INLINE void name(int64_t turns, const void *operands, T *acc) {                      \
    __asm__ volatile(ARCH "ldp q24, q25, [%[regs]]\n\tldp q26, q27, [%[regs], #32]\n\t"      \
                     ALL(ZERO, , , )                                                         \
                     ".p2align 6\n1:\n\t"                                                    \
                     RIDGE_4TIMES(ALL(OP, op, d, s))                                         \
                     "subs %[n], %[n], #1\n\tb.ne 1b\n\t"                                    \
                     ALL(STORE, , , )                                                        \
                     : [n] "+r"(turns)                                                       \
                     : [regs] "r"(operands), [acc] "r"(acc)                                  \
                     : "memory", "cc", RIDGE_V0_31);                                         \
  }

RUN(double, run_fp64, "fmla", "2d", "2d")
RUN(float, run_fp32, "fmla", "4s", "4s")
RUN(int32_t, run_sdot, "sdot", "4s", "16b")
RUN(float, run_bfmmla, "bfmmla", "4s", "8h")
RUN(int32_t, run_smmla, "smmla", "4s", "16b")
RUN(int32_t, run_usmmla, "usmmla", "4s", "16b")
RIDGE_PEAK_KERNEL(peak_fp64_neon_arm64, , double, 24 * 2, 96, run_fp64)
RIDGE_PEAK_KERNEL(peak_fp32_neon_arm64, , float, 24 * 4, 96, run_fp32)
RIDGE_PEAK_KERNEL(peak_int8_dotprod_arm64, , int32_t, 24 * 4, 96, run_sdot)
RIDGE_PEAK_KERNEL(peak_bf16_bf16arm_arm64, , float, 24 * 4, 96, run_bfmmla)
RIDGE_PEAK_KERNEL(peak_int8_i8mm_arm64, , int32_t, 24 * 4, 96, run_smmla)
RIDGE_PEAK_KERNEL(peak_u8s8_i8mm_arm64, , int32_t, 24 * 4, 96, run_usmmla)
