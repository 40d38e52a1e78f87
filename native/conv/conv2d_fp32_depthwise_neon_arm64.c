// conv2d_fp32_depthwise_neon: one channel per group, vectors of 4.
//
// Formula, layouts, limit and source: conv_depthwise_body.h. Preconditions: groups = C, and K = C
// in NHWC; any alignment. FLOP 2*N*Ho*Wo*K*R*S; bytes x, w and y once.
// Versions: 1, this one; tested under emulation, not timed.
#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_VT
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_depthwise_neon
#include "conv_depthwise_body.h"
