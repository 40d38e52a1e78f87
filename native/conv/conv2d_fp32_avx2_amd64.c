// conv2d_fp32_avx2: implicit GEMM with 6x16 tiles (fp32 throughout).
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic,
// 6 cycles per k and tile at two FMA a cycle; packing costs about one
// load and store per panel element, shared by all channels of a task.
// Versions: 1, this one.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx2
#include "conv_gemm_body.h"
