// conv2d_bf16_avx512_planes_model: direct convolution along the pixels of planes, tiles of 4 outputs by 96 pixels of bf16 widened to fp32 in plain vectors, to prove the logic of the
// variant on machines without its instructions; never chosen by itself.
//
// Formula, layouts, floor and source: conv_planes_body.h. Preconditions: sizes below 2^30, steps of at most 4, any alignment. FLOP
// 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic; see the variant.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_NV 6
#define RIDGE_VT
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_avx512_planes_model
#include "conv_planes_body.h"
