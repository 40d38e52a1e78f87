// conv2d_fp32_neon: implicit GEMM with 8x12 tiles.
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 24 FMA by element per k, 3 loads and 8 scalar loads: 6 cycles on cores with four pipes.
// Versions: 1, this one; tested under emulation, not timed.
#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_neon
#include "conv_gemm_body.h"
