// conv2d_bf16_avx2_indirect: implicit GEMM through pixel pointers, 6x16 tiles (bf16 widened to fp32 in the copies of pixels and filters).
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// as fp32: AVX2 has no faster bf16 instruction; 6 cycles for an element of 6 pixels and 16 channels.
// Versions: 1, this one.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_avx2_indirect
#include "conv_indirect_body.h"
