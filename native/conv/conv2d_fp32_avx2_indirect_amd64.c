// conv2d_fp32_avx2_indirect: implicit GEMM through pixel pointers, 6x16 tiles (fp32 throughout).
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic, 6 cycles
// for an element of 6 pixels and 16 channels at two FMA a cycle; 8 loads a tile step, 4 cycles.
// Versions: 1, this one.
#include "../include/ridge.h"

#define RIDGE_VL 8
#ifndef RIDGE_MR
#define RIDGE_MR 3
#define RIDGE_NV 4
#endif
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx2_indirect
#include "conv_indirect_body.h"
