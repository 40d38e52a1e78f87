// conv2d_fp32_neon_indirect: implicit GEMM through pixel pointers, 6x16 tiles.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 24 FMA by element for an element, 4 loads and 6 scalar loads: 6 cycles on cores with four pipes, 29 of 32 registers.
// Versions: 1, this one; tested under emulation, not timed.
#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_MR 6
#define RIDGE_NV 4
#define RIDGE_VT
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_neon_indirect
#include "conv_indirect_body.h"
