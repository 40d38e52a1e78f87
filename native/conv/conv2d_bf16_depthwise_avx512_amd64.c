// conv2d_bf16_depthwise_avx512: one channel per group, vectors of 16.
//
// Formula, layouts, limit and source: conv_depthwise_body.h. Preconditions: groups = C, and K = C
// in NHWC; any alignment. FLOP 2*N*Ho*Wo*K*R*S; bytes x, w and y once.
// Versions: 1, this one; its logic was tested through the model only.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_depthwise_avx512
#include "conv_depthwise_body.h"
