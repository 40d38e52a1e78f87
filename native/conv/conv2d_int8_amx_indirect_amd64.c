// conv2d_int8_amx_indirect: implicit GEMM on AMX tiles, blocks of 48 (or 32) pixels and 32 channels.
//
// Formula, layouts, blocking: conv_amx_body.h. NHWC; preconditions: sizes below 2^30, any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S;
// bytes x, w and y once. Limit: tdpbssd, 16*16*64 products in 16 cycles (2048 operations a cycle). Exact.
// Source: Intel 64 and IA-32 SDM; Intel optimization manual, chapter on AMX.
// Versions (sum of ResNet-50 in bf16, batch 1, against oneDNN: docs/kernels/conv.md, Granite Rapids): 1, ends of the block before with each step: 0.83.
// 2, sums stored within the next block's first step, ends two blocks later in the last steps: 0.95. 3, panels by tileloaddt1: 1.01 to 1.04.
// 4, accumulators start at the bias, ends of eight rows at a time, stems copied by rows of taps: 1.05 to 1.07.
// 5, blocks of two tiles where three tiles' pixels exceed L1: 1.08 to 1.10.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_VT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_amx_indirect
#include "conv_amx_body.h"
