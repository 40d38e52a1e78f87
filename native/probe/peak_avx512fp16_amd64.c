// peak_fp16_avx512fp16_amd64: fused multiply-adds of half precision on 512-bit registers.
//
// 24 chains in zmm0..23, acc <- acc + a*b, a in zmm24/25, b in zmm26/27, all of them 1 or -1
// by lane; 96 instructions per turn. The proof is in peak_half.h. No bytes. Limit: two
// 512-bit FMA ports, latency 4 (uops.info): 8 chains needed.
// Version 1: as described.
#include "peak_half.h"

#define OP(c, a, b, op) "vfmadd231ph %%zmm" #b ", %%zmm" #a ", %%zmm" #c "\n\t"
#define START(c, a, b, op) "vmovdqa64 %%zmm28, %%zmm" #c "\n\t"
#define ADD(c, tot) "vcvtph2w %%zmm" #c ", %%zmm" #c "\n\tvpaddw %%zmm" #c ", %%zmm" #tot ", %%zmm" #tot "\n\t"
#define ALL(X) RIDGE_CHAINS24(X, 24, 25, 26, 27, )
#define HARVEST                                                                                         \
  ADD(0, 29) ADD(12, 30) ADD(1, 29) ADD(13, 30) ADD(2, 29) ADD(14, 30) ADD(3, 29) ADD(15, 30)           \
  ADD(4, 29) ADD(16, 30) ADD(5, 29) ADD(17, 30) ADD(6, 29) ADD(18, 30) ADD(7, 29) ADD(19, 30)           \
  ADD(8, 29) ADD(20, 30) ADD(9, 29) ADD(21, 30) ADD(10, 29) ADD(22, 30) ADD(11, 29) ADD(23, 30)

RIDGE_TARGET_AVX512 static inline void run(int64_t turns, const void *operands, uint16_t *tot) {
  __asm__ volatile(
      "vmovups 0(%[regs]), %%zmm24\n\tvmovups 64(%[regs]), %%zmm25\n\t"
      "vmovups 128(%[regs]), %%zmm26\n\tvmovups 192(%[regs]), %%zmm27\n\t"
      "vpbroadcastw %[start], %%zmm28\n\t"
      "vpxorq %%zmm29, %%zmm29, %%zmm29\n\tvpxorq %%zmm30, %%zmm30, %%zmm30\n\t"
      ALL(START)
      ".p2align 6\n1:\n\t"
      RIDGE_4TIMES(ALL(OP))
      "dec %[n]\n\tjnz 1b\n\t"
      HARVEST
      "vmovups %%zmm29, 0(%[tot])\n\tvmovups %%zmm30, 64(%[tot])\n\tvzeroupper\n\t"
      : [n] "+r"(turns)
      : [regs] "r"(operands), [tot] "r"(tot), [start] "r"(RIDGE_HALF_MINUS_2048)
      : "memory", "cc", RIDGE_XMM0_15, RIDGE_XMM16_31);
}

RIDGE_PEAK_HALF_KERNEL(peak_fp16_avx512fp16_amd64, RIDGE_TARGET_AVX512, 32, run)
