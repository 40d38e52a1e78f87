// conv2d_fp32_depthwise_avx2: one channel per group, vectors of 8.
//
// Formula, layouts, limit and source: conv_depthwise_body.h. Preconditions: groups = C, and K = C
// in NHWC; any alignment. FLOP 2*N*Ho*Wo*K*R*S; bytes x, w and y once.
// Versions: 1, this one.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_depthwise_avx2
#include "conv_depthwise_body.h"
