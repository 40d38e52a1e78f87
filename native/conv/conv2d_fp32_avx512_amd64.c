// conv2d_fp32_avx512: implicit GEMM with 8x48 tiles.
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 12 cycles per k at two FMA a cycle (24 with one unit), 3 loads and 8 broadcasts beside them.
// Versions: 1 to 3 are those of conv2d_fp32_avx2; 4, all lines of a tile's row of the residual asked for.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_NC 192
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx512
#include "conv_gemm_body.h"
