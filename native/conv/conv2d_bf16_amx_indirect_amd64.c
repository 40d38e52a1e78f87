// conv2d_bf16_amx_indirect: implicit GEMM on AMX tiles, blocks of 32 pixels and 32 channels, or of 48 and 16.
//
// Formula, layouts, blocking: conv_amx_body.h. NHWC and NCHW; preconditions: sizes below 2^30, any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S;
// bytes x, w and y once. Limit: tdpbf16ps, 16*16*32 products in 16 cycles (1024 FLOP a cycle). It flushes denormals, as the rounding does; sums are fp32.
// Source: Intel 64 and IA-32 SDM; Intel optimization manual, chapter on AMX.
// Versions (sum of ResNet-50 in bf16, batch 1, against oneDNN: docs/kernels/conv.md, Granite Rapids): 1, ends of the block before with each step: 0.83.
// 2, sums stored within the next block's first step, ends two blocks later in the last steps: 0.95. 3, panels by tileloaddt1: 1.01 to 1.04.
// 4, accumulators start at the bias, ends of eight rows at a time, stems copied by rows of taps: 1.05 to 1.07.
// 5, blocks of two tiles where three tiles' pixels exceed L1: 1.08 to 1.10. 6, NCHW by turned windows: 3.1 to 11 times the kernels of vectors there.
// 7, few registers where the core is shared (conv_amx_tile.h), ends a tile at a time without a branch each, y's lines always asked for: of 6 on Emerald Rapids,
// one thread, 3x3 1.7 to 1.9 and 1x1 1.3 to 1.7 while another thread has the core's other half, 0.91 to 1.19 while none has. 8, stems by windows of rows of taps:
// 1.1 to 1.15 of 7. 9, pixels read counted when work is shared out: two threads, 64x56x56 -> 64 3.1, -> 256 2.2 (docs/kernels/conv.md, Emerald Rapids).
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_VT __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_amx_indirect
#define RIDGE_NARROW(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(v)))
#define RIDGE_NARROW2(p, low, high) _mm512_storeu_si512((p), (__m512i)_mm512_cvtne2ps_pbh((__m512)(high), (__m512)(low)))
#include "conv_amx_body.h"
