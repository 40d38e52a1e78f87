// conv2d_bf16_neon: implicit GEMM with 8x12 tiles, bf16 widened while packing.
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// as fp32, by conversion.
// Versions: 1, this one; tested under emulation, not timed.
#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_neon
#include "conv_gemm_body.h"
