// conv2d_bf16_avx512bf16_indirect_model: implicit GEMM through pixel pointers, 7x64 tiles of pairs of channels in plain vectors, to prove the logic of the
// variant on machines without its instructions; never chosen by itself.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// see the variant. Sums of pairs here round twice.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 7
#define RIDGE_NV 4
#define RIDGE_WIDE 12
#define CONV_FEW 8
#define RIDGE_VT
#define CONV_BF16
#define CONV_DOT
#define CONV_HALVES
#define CONV_KEPT (512 << 10)
#define CONV_FN ridge_conv2d_bf16_avx512bf16_indirect_model
#define MODEL_HIGH(u) ((ridge_vf)((ridge_vi)(u) & (int32_t)0xffff0000))
#define MODEL_LOW(u) ((ridge_vf)((ridge_vu)(u) << 16))
#define RIDGE_DOT(acc, b, x) ((acc) + MODEL_HIGH(b) * MODEL_HIGH(x) + MODEL_LOW(b) * MODEL_LOW(x))
#define CONV_EDGES
#define CONV_KC 1152
#include "conv_indirect_body.h"
