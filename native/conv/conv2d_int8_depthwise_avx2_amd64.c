// conv2d_int8_depthwise_avx2: one channel per group, vectors of 8.
//
// Formula, layouts, limit and source: conv_depthwise_body.h. Preconditions: groups = C, and K = C
// in NHWC; any alignment. FLOP 2*N*Ho*Wo*K*R*S; bytes x, w and y once.
// Versions, 3x3/1, us of two threads at 4x128x56x56 in NCHW: 1, rows copied to a ring: 743. 2, read in place, pairs of int16: 322 (requantised, bias, ReLU: 849 -> 382).
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_depthwise_avx2
#include "conv_depthwise_body.h"
