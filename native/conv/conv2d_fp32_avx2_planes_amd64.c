// conv2d_fp32_avx2_planes: direct convolution along the pixels of planes, tiles of 4 outputs by 24 pixels.
//
// Formula, layouts, floor and source: conv_planes_body.h. Preconditions: sizes below 2^30, steps of at most 4, any alignment. FLOP
// 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic; an element's 12 multiply-adds take 6 cycles, beside them 3 loads and 4 broadcasts.
// Versions: 1, this one.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_NV 3
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx2_planes
#include "conv_planes_body.h"
