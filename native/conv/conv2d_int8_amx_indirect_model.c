// conv2d_int8_amx_indirect_model: the same on tiles in plain C, to prove the logic of the variant on machines without its
// instructions; never chosen by itself.
//
// Formula, layouts, blocking: conv_amx_body.h. NHWC; preconditions: sizes below 2^30, any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S;
// bytes x, w and y once. Limit: arithmetic; see the variant.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_VT
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_amx_indirect_model
#include "conv_amx_body.h"
