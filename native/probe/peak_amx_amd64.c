// peak_{bf16,fp16,int8,u8s8}_amx_amd64: products of 16x64-byte tiles.
//
// acc[16,16] <- acc + A[16,K]*B[K,16], K = 32 (16-bit) or 64 (8-bit), B in pairs or fours of
// rows. 4 accumulators in tmm0..3, A in tmm4/5, B in tmm6/7, the 2x2 block of a real GEMM;
// 96 instructions per turn. No bytes inside the loop. Limit: the tile unit takes one product
// every 16 cycles; latency 52 (Intel optimization manual, chapter on AMX) needs 4 chains.
// The process must hold the AMX permission; a kernel that requires the amx bits of
// RIDGE_ISA is only picked where it was given.
// tdpfp16ps is written as bytes, since assemblers of 2022 do not know it: it is tdpbf16ps
// with the prefix F2 in place of F3.
// Version 1: as described.
#include "peak.h"

typedef struct tile_config {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_config;

static const tile_config config RIDGE_ALIGNED = {
    .palette = 1,
    .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

#define STEP(op) op " %%tmm6, %%tmm4, %%tmm0\n\t" op " %%tmm6, %%tmm5, %%tmm1\n\t" op " %%tmm7, %%tmm4, %%tmm2\n\t" op " %%tmm7, %%tmm5, %%tmm3\n\t"
// VEX.128.F2.0F38.W0 5C /r: vvvv is B inverted, rm is A, reg is the accumulator.
#define STEP_FP16                                                                                  \
  ".byte 0xc4,0xe2,0x4b,0x5c,0xc4\n\t.byte 0xc4,0xe2,0x4b,0x5c,0xcd\n\t" \
  ".byte 0xc4,0xe2,0x43,0x5c,0xd4\n\t.byte 0xc4,0xe2,0x43,0x5c,0xdd\n\t"
#define RIDGE_24TIMES(s) RIDGE_8TIMES(s) RIDGE_8TIMES(s) RIDGE_8TIMES(s)

#define RUN(T, name, step)                                                                             \
  RIDGE_INLINE void name(int64_t turns, const void *operands, T *acc) {                                \
    __asm__ volatile("ldtilecfg (%[cfg])\n\t"                                                          \
                     "tileloadd 0(%[regs],%[row],1), %%tmm4\n\ttileloadd 1024(%[regs],%[row],1), %%tmm5\n\t" \
                     "tileloadd 2048(%[regs],%[row],1), %%tmm6\n\ttileloadd 3072(%[regs],%[row],1), %%tmm7\n\t" \
                     "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"    \
                     ".p2align 6\n1:\n\t"                                                              \
                     RIDGE_24TIMES(step)                                                               \
                     "dec %[n]\n\tjnz 1b\n\t"                                                          \
                     "tilestored %%tmm0, 0(%[acc],%[row],1)\n\ttilestored %%tmm1, 1024(%[acc],%[row],1)\n\t" \
                     "tilestored %%tmm2, 2048(%[acc],%[row],1)\n\ttilestored %%tmm3, 3072(%[acc],%[row],1)\n\t" \
                     "tilerelease\n\t"                                                                 \
                     : [n] "+r"(turns)                                                                 \
                     : [regs] "r"(operands), [acc] "r"(acc), [cfg] "r"(&config), [row] "r"((int64_t)64)  \
                     : "memory", "cc");                                                                \
  }

RUN(float, run_bf16, STEP("tdpbf16ps"))
RUN(float, run_fp16, STEP_FP16)
RUN(int32_t, run_int8, STEP("tdpbssd"))
RUN(int32_t, run_u8s8, STEP("tdpbusd"))
RIDGE_PEAK_KERNEL(peak_bf16_amx_amd64, RIDGE_TARGET_AVX512, float, 4 * 256, 96, run_bf16)
RIDGE_PEAK_KERNEL(peak_fp16_amx_amd64, RIDGE_TARGET_AVX512, float, 4 * 256, 96, run_fp16)
RIDGE_PEAK_KERNEL(peak_int8_amx_amd64, RIDGE_TARGET_AVX512, int32_t, 4 * 256, 96, run_int8)
RIDGE_PEAK_KERNEL(peak_u8s8_amx_amd64, RIDGE_TARGET_AVX512, int32_t, 4 * 256, 96, run_u8s8)
