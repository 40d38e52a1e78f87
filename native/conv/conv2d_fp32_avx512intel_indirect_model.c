// conv2d_fp32_avx512intel_indirect_model: implicit GEMM through pixel pointers, 6x64 tiles in plain vectors, to prove the logic of the variant on machines without its
// instructions; never chosen by itself.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// see the variant.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 6
#define RIDGE_NV 4
#define RIDGE_WIDE 12
#define CONV_FEW 8
#define RIDGE_VT
#define CONV_FP32
#define CONV_FOURS
#define CONV_FN ridge_conv2d_fp32_avx512intel_indirect_model
#define CONV_KC 1152
#include "conv_indirect_body.h"
