// conv2d_int8_amx_indirect: implicit GEMM on AMX tiles, blocks of 32 pixels and 32 channels, or of 48 and 16.
//
// Formula, layouts, blocking: conv_amx_body.h. NHWC and NCHW; preconditions: sizes below 2^30, any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S;
// bytes x, w and y once. Limit: tdpbssd, 16*16*64 products in 16 cycles (2048 operations a cycle). Exact.
// Source: Intel 64 and IA-32 SDM; Intel optimization manual, chapter on AMX.
// Versions: those of conv2d_bf16_amx_indirect, whose sums they were judged by; a pair of requantised vectors as one store. ResNet-50 requantised, batch 1, one
// thread: 0.94 of oneDNN (docs/kernels/conv.md, Granite Rapids).
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_VT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_amx_indirect
#include "conv_amx_body.h"
