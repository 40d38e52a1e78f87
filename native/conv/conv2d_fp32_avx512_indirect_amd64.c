// conv2d_fp32_avx512_indirect: implicit GEMM through pixel pointers, 8x32 tiles.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 8 cycles for an element at two FMA a cycle, 2 loads and 8 broadcasts beside them.
// Versions: 1, this one; its logic was tested through the model only.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx512_indirect
#include "conv_indirect_body.h"
