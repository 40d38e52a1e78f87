// peak_{fp64,fp32,int8}_avx512_amd64, peak_bf16_avx512bf16_amd64, peak_u8s8_avx512vnni_amd64:
// fused multiply-adds and dot products on 512-bit registers.
//
// 24 chains in zmm0..23, acc <- acc + a*b (bf16: sum of 2 products, u8s8: of 4), a in
// zmm24/25, b in zmm26/27; 96 instructions per turn and one fused counter and branch. No
// bytes. Limit: two 512-bit FMA ports (one on some chips, one double-pumped pair of 256-bit
// units on Zen 4). Latency 4 to 6 cycles (uops.info) x 2 = 8 to 12 chains; bf16 dot products
// of Intel cores take up to 10. 24 cover them.
// int8 without VNNI: as in peak_avx2_amd64.c, 16 chains in zmm0..15 and products in zmm16..23.
// Version 1: as described. Version 2: int8 in groups of four products and their four sums (Zen 4:
// 0.82 of four instructions a cycle in every run; in turn, 0.33 to 0.81).
#include "peak.h"

#define OP(c, a, b, op) op " %%zmm" #b ", %%zmm" #a ", %%zmm" #c "\n\t"
#define ZERO(c, a, b, op) "vpxorq %%zmm" #c ", %%zmm" #c ", %%zmm" #c "\n\t"
#define STORE(c, a, b, op) "vmovups %%zmm" #c ", 64*" #c "(%[acc])\n\t"
#define ALL(X, op) RIDGE_CHAINS24(X, 24, 25, 26, 27, op)

#define RUN(T, name, op)                                                                      \
  RIDGE_TARGET_AVX512 static inline void name(int64_t turns, const void *operands, T *acc) {  \
    __asm__ volatile("vmovups 0(%[regs]), %%zmm24\n\tvmovups 64(%[regs]), %%zmm25\n\t"            \
                     "vmovups 128(%[regs]), %%zmm26\n\tvmovups 192(%[regs]), %%zmm27\n\t"         \
                     ALL(ZERO, )                                                              \
                     ".p2align 6\n1:\n\t"                                                     \
                     RIDGE_4TIMES(ALL(OP, op))                                                \
                     "dec %[n]\n\tjnz 1b\n\t"                                                 \
                     ALL(STORE, ) "vzeroupper\n\t"                                            \
                     : [n] "+r"(turns)                                                        \
                     : [regs] "r"(operands), [acc] "r"(acc)                                     \
                     : "memory", "cc", RIDGE_XMM0_15, RIDGE_XMM16_31);                        \
  }

#define MADD_MUL(c, a, b, t) "vpmaddwd %%zmm" #b ", %%zmm" #a ", %%zmm" #t "\n\t"
#define MADD_ADD(c, a, b, t) "vpaddd %%zmm" #t ", %%zmm" #c ", %%zmm" #c "\n\t"
#define MADD_NONE(c, a, b, t)
#define MADD_ZERO(c, a, b, t) "vpxorq %%zmm" #c ", %%zmm" #c ", %%zmm" #c "\n\t"
#define MADD_STORE(c, a, b, t) "vmovups %%zmm" #c ", 64*" #c "(%[acc])\n\t"
#define MADD_ALL(P, S)                                                        \
  RIDGE_MADD4(P, S, 0, 1, 2, 3, 24, 25, 26, 27, 16, 17, 18, 19)                \
  RIDGE_MADD4(P, S, 4, 5, 6, 7, 24, 25, 26, 27, 20, 21, 22, 23)                \
  RIDGE_MADD4(P, S, 8, 9, 10, 11, 24, 25, 26, 27, 16, 17, 18, 19)              \
  RIDGE_MADD4(P, S, 12, 13, 14, 15, 24, 25, 26, 27, 20, 21, 22, 23)

RIDGE_TARGET_AVX512 static inline void run_int8(int64_t turns, const void *operands, int32_t *acc) {
  __asm__ volatile("vmovups 0(%[regs]), %%zmm24\n\tvmovups 64(%[regs]), %%zmm25\n\t"
                   "vmovups 128(%[regs]), %%zmm26\n\tvmovups 192(%[regs]), %%zmm27\n\t"
                   MADD_ALL(MADD_ZERO, MADD_NONE)
                   ".p2align 6\n1:\n\t"
                   RIDGE_3TIMES(MADD_ALL(MADD_MUL, MADD_ADD))
                   "dec %[n]\n\tjnz 1b\n\t"
                   MADD_ALL(MADD_STORE, MADD_NONE) "vzeroupper\n\t"
                   : [n] "+r"(turns)
                   : [regs] "r"(operands), [acc] "r"(acc)
                   : "memory", "cc", RIDGE_XMM0_15, RIDGE_XMM16_31);
}

RUN(double, run_fp64, "vfmadd231pd")
RUN(float, run_fp32, "vfmadd231ps")
RUN(float, run_bf16, "vdpbf16ps")
RUN(int32_t, run_u8s8, "vpdpbusd")
RIDGE_PEAK_KERNEL(peak_fp64_avx512_amd64, RIDGE_TARGET_AVX512, double, 24 * 8, 96, run_fp64)
RIDGE_PEAK_KERNEL(peak_fp32_avx512_amd64, RIDGE_TARGET_AVX512, float, 24 * 16, 96, run_fp32)
RIDGE_PEAK_KERNEL(peak_bf16_avx512bf16_amd64, RIDGE_TARGET_AVX512, float, 24 * 16, 96, run_bf16)
RIDGE_PEAK_KERNEL(peak_u8s8_avx512vnni_amd64, RIDGE_TARGET_AVX512, int32_t, 24 * 16, 96, run_u8s8)
RIDGE_PEAK_KERNEL(peak_int8_avx512_amd64, RIDGE_TARGET_AVX512, int32_t, 16 * 16, 96, run_int8)
