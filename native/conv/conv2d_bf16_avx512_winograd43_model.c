// conv2d_bf16_avx512_winograd43_model: Winograd F(4x4, 3x3) with 8x32 tiles in plain vectors,
// to prove the logic of the variant on machines without its instructions; never chosen by itself.
//
// Formula, blocking, error and source: conv_winograd_body.h. Preconditions: 3x3, step 1, no dilation, one
// group, C a multiple of 16 and K of 32; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, a quarter of it done;
// bytes x, w and y once. Limit: arithmetic of the 36 products, and the transforms beside them.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT
#define CONV_BF16
#define CONV_APART 48
#define CONV_FN ridge_conv2d_bf16_avx512_winograd43_model
#include "conv_winograd_body.h"
