// conv2d_bf16_depthwise_avx512_model: one channel per group, vectors of 16 in plain GNU C, to prove the
// logic of the variant on machines without its instructions; never chosen by itself.
//
// Formula, layouts, limit and source: conv_depthwise_body.h. Preconditions: groups = C, and K = C
// in NHWC; any alignment. FLOP 2*N*Ho*Wo*K*R*S; bytes x, w and y once.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_VT
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_depthwise_avx512_model
#include "conv_depthwise_body.h"
