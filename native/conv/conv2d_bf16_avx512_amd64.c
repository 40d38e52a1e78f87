// conv2d_bf16_avx512: implicit GEMM with 8x48 tiles, bf16 widened while packing.
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 12 cycles per k at two FMA a cycle; VDPBF16PS is slower than fp32 FMA on several chips and
// rounds differently.
// Versions: 1, as fp32's first. 2, the residual's lines asked for before a tile's last products (conv_gemm_body.h).
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_NC 192
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_avx512
#include "conv_gemm_body.h"
