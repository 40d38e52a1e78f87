// conv2d_fp32_avx512_winograd43s2_model: Winograd F(4x4, 3x3) of step 2 by phases, 8x32 tiles in plain vectors,
// to prove the logic of the variant on machines without its instructions; never chosen by itself.
//
// Formula, blocking, error and source: conv_winograd_body.h and conv_winograd_phases.h. Preconditions: 3x3, step 2, no dilation, one
// group, C a multiple of 16 and K of 32; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, 81/144 of it done;
// bytes x, w and y once. Limit: arithmetic of the 81 products, and the transforms beside them.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT
#define CONV_FP32
#define CONV_STEP2
#define CONV_FN ridge_conv2d_fp32_avx512_winograd43s2_model
#include "conv_winograd_body.h"
