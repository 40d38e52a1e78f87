// peak_{bf16,fp16,int8,u8s8}_amx_amd64: products of 16x64-byte tiles.
//
// acc[16,16] <- acc + A[16,K]*B[K,16], K = 32 (16-bit) or 64 (8-bit), B in pairs or fours of
// rows. Two accumulators in tmm0 and tmm1, A in tmm4, B in tmm6; 96 instructions per turn. No
// bytes inside the loop; the 16 rows of A differ, so that the multipliers' inputs toggle. Limit:
// the tile unit takes one product every 16 cycles. A product waits for the one before on its
// accumulator only row by row: one chain reaches 16 cycles too. More registers in use leave
// fewer to rename while another thread has the core's other half: 16.0 to 16.7 cycles with
// four, 19 with six, 38 with eight (Emerald Rapids; alone 16 each). The registers
// that ldtilecfg has cleared take none.
// The process must hold the AMX permission; a kernel that requires the amx bits of
// RIDGE_ISA is only picked where it was given.
// tdpfp16ps is written as bytes, since assemblers of 2022 do not know it: it is tdpbf16ps
// with the prefix F2 in place of F3.
// Version 1: four accumulators, two A, two B, the 2x2 block of a product: on a shared core 0.43 of this.
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

#define STEP(op) op " %%tmm6, %%tmm4, %%tmm0\n\t" op " %%tmm6, %%tmm4, %%tmm1\n\t"
// VEX.128.F2.0F38.W0 5C /r: vvvv is B inverted, rm is A, reg is the accumulator.
#define STEP_FP16 ".byte 0xc4,0xe2,0x4b,0x5c,0xc4\n\t.byte 0xc4,0xe2,0x4b,0x5c,0xcc\n\t"
#define RIDGE_48TIMES(s) RIDGE_TWICE(RIDGE_8TIMES(s) RIDGE_8TIMES(s) RIDGE_8TIMES(s))

#define RUN(T, name, step)                                                                             \
  RIDGE_INLINE void name(int64_t turns, const void *operands, T *acc) {                                \
    __asm__ volatile("ldtilecfg (%[cfg])\n\t"                                                          \
                     "tileloadd 0(%[regs],%[row],1), %%tmm4\n\ttileloadd 2048(%[regs],%[row],1), %%tmm6\n\t" \
                     "tilezero %%tmm0\n\ttilezero %%tmm1\n\t"                                          \
                     ".p2align 6\n1:\n\t"                                                              \
                     RIDGE_48TIMES(step)                                                               \
                     "dec %[n]\n\tjnz 1b\n\t"                                                          \
                     "tilestored %%tmm0, 0(%[acc],%[row],1)\n\ttilestored %%tmm1, 1024(%[acc],%[row],1)\n\t" \
                     "tilerelease\n\t"                                                                 \
                     : [n] "+r"(turns)                                                                 \
                     : [regs] "r"(operands), [acc] "r"(acc), [cfg] "r"(&config), [row] "r"((int64_t)64)  \
                     : "memory", "cc");                                                                \
  }

RUN(float, run_bf16, STEP("tdpbf16ps"))
RUN(float, run_fp16, STEP_FP16)
RUN(int32_t, run_int8, STEP("tdpbssd"))
RUN(int32_t, run_u8s8, STEP("tdpbusd"))
RIDGE_PEAK_KERNEL(peak_bf16_amx_amd64, RIDGE_TARGET_AVX512, float, 2 * 256, 96, run_bf16)
RIDGE_PEAK_KERNEL(peak_fp16_amx_amd64, RIDGE_TARGET_AVX512, float, 2 * 256, 96, run_fp16)
RIDGE_PEAK_KERNEL(peak_int8_amx_amd64, RIDGE_TARGET_AVX512, int32_t, 2 * 256, 96, run_int8)
RIDGE_PEAK_KERNEL(peak_u8s8_amx_amd64, RIDGE_TARGET_AVX512, int32_t, 2 * 256, 96, run_u8s8)
