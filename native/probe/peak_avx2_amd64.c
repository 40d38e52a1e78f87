// peak_{fp64,fp32,int8}_avx2_amd64 and peak_u8s8_avxvnni_amd64: fused multiply-adds and 8-bit
// dot products on 256-bit registers.
//
// 12 chains in ymm0..11, acc <- acc + a*b (vpdpbusd: acc <- acc + sum of 4 products), a in
// ymm12/13, b in ymm14/15; 96 instructions per turn and one fused counter and branch. No
// bytes. Limit: two 256-bit FMA ports. Latency 4 to 5 cycles (uops.info) x 2 ports = 8 to
// 10 chains; 12 leave slack for uneven port assignment.
//
// int8 without VNNI: 8 chains in ymm0..7 of t <- sum of 2 products of 16-bit numbers (vpmaddwd,
// t in ymm8..11), acc <- acc + t (vpaddd); each counts as an instruction. 16-bit operands are
// what exact 8-bit products take: vpmaddubsw saturates, and with its second step (vpmaddwd by
// ones) needs as many multiplications. Limit: two multiplications a cycle.
// Version 1: as described. Version 2: int8 in groups of four products and their four sums (Zen 4:
// 0.82 of four instructions a cycle in every run; in turn, 0.33 to 0.81).
#include "peak.h"

#define OP(c, a, b, op) op " %%ymm" #b ", %%ymm" #a ", %%ymm" #c "\n\t"
#define ZERO(c, a, b, op) "vpxor %%ymm" #c ", %%ymm" #c ", %%ymm" #c "\n\t"
#define STORE(c, a, b, op) "vmovups %%ymm" #c ", 32*" #c "(%[acc])\n\t"
#define ALL(X, op) RIDGE_CHAINS12(X, 12, 13, 14, 15, op)

#define RUN(T, name, op)                                                                     \
  RIDGE_INLINE void name(int64_t turns, const void *operands, T *acc) {                      \
    __asm__ volatile("vmovups 0(%[regs]), %%ymm12\n\tvmovups 32(%[regs]), %%ymm13\n\t"           \
                     "vmovups 64(%[regs]), %%ymm14\n\tvmovups 96(%[regs]), %%ymm15\n\t"          \
                     ALL(ZERO, )                                                             \
                     ".p2align 6\n1:\n\t"                                                    \
                     RIDGE_8TIMES(ALL(OP, op))                                               \
                     "dec %[n]\n\tjnz 1b\n\t"                                                \
                     ALL(STORE, ) "vzeroupper\n\t"                                           \
                     : [n] "+r"(turns)                                                       \
                     : [regs] "r"(operands), [acc] "r"(acc)                                    \
                     : "memory", "cc", RIDGE_XMM0_15);                                       \
  }

#define MADD_MUL(c, a, b, t) "vpmaddwd %%ymm" #b ", %%ymm" #a ", %%ymm" #t "\n\t"
#define MADD_ADD(c, a, b, t) "vpaddd %%ymm" #t ", %%ymm" #c ", %%ymm" #c "\n\t"
#define MADD_NONE(c, a, b, t)
#define MADD_ZERO(c, a, b, t) "vpxor %%ymm" #c ", %%ymm" #c ", %%ymm" #c "\n\t"
#define MADD_STORE(c, a, b, t) "vmovups %%ymm" #c ", 32*" #c "(%[acc])\n\t"
#define MADD_ALL(P, S)                                                  \
  RIDGE_MADD4(P, S, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)            \
  RIDGE_MADD4(P, S, 4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11)

RIDGE_INLINE void run_int8(int64_t turns, const void *operands, int32_t *acc) {
  __asm__ volatile("vmovups 0(%[regs]), %%ymm12\n\tvmovups 32(%[regs]), %%ymm13\n\t"
                   "vmovups 64(%[regs]), %%ymm14\n\tvmovups 96(%[regs]), %%ymm15\n\t"
                   MADD_ALL(MADD_ZERO, MADD_NONE)
                   ".p2align 6\n1:\n\t"
                   RIDGE_TWICE(RIDGE_3TIMES(MADD_ALL(MADD_MUL, MADD_ADD)))
                   "dec %[n]\n\tjnz 1b\n\t"
                   MADD_ALL(MADD_STORE, MADD_NONE) "vzeroupper\n\t"
                   : [n] "+r"(turns)
                   : [regs] "r"(operands), [acc] "r"(acc)
                   : "memory", "cc", RIDGE_XMM0_15);
}

RUN(double, run_fp64, "vfmadd231pd")
RUN(float, run_fp32, "vfmadd231ps")
RUN(int32_t, run_u8s8, "%{vex%} vpdpbusd")
RIDGE_PEAK_KERNEL(peak_fp64_avx2_amd64, , double, 12 * 4, 96, run_fp64)
RIDGE_PEAK_KERNEL(peak_fp32_avx2_amd64, , float, 12 * 8, 96, run_fp32)
RIDGE_PEAK_KERNEL(peak_u8s8_avxvnni_amd64, , int32_t, 12 * 8, 96, run_u8s8)
RIDGE_PEAK_KERNEL(peak_int8_avx2_amd64, , int32_t, 8 * 8, 96, run_int8)
