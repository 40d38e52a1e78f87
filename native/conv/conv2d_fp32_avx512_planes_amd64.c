// conv2d_fp32_avx512_planes: direct convolution along the pixels of planes, tiles of 4 outputs by 96 pixels.
//
// Formula, layouts, floor and source: conv_planes_body.h. Preconditions: sizes below 2^30, steps of at most 4, any alignment. FLOP
// 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic; an element's 24 multiply-adds take 12 cycles, beside them 6 loads and 4 broadcasts.
// Versions: 1, this one; places listed by runs, rows that end in zeros by a mask, 16 outputs over all pixels before the next: docs/kernels/conv.md.
// 2, the even and the odd columns of a row copied at once at a step of two: 1.0 to 1.34 times as fast, most with few pixels.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_NV 6
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx512_planes
#include "conv_planes_body.h"
