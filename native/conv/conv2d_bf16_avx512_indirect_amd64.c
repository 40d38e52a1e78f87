// conv2d_bf16_avx512_indirect: implicit GEMM through pixel pointers, 7x64 tiles.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 14 cycles for an element at two FMA a cycle, 10 loads of the panel and 7 broadcasts beside them.
// Versions: 1, 8x32 tiles; its logic was tested through the model only. 2, 7x64, as the fp32 kernel.
// 3, few output channels as conv2d_fp32_avx512_indirect: 3x3 to 16 1.2, to 12 1.3, to 4 3.7.
// 4, as version 8 of conv2d_fp32_avx512_indirect: 3x3 over 16 to 64 channels 1.01 to 1.22.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 7
#define RIDGE_NV 4
#define RIDGE_WIDE 12
#define CONV_FEW 8
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_avx512_indirect
#define CONV_EDGES
#define CONV_KC 1152
#define CONV_MAC "vfmadd231ps"
#include "conv_indirect_body.h"
