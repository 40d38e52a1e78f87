// conv2d_bf16_avx512bf16_model: implicit GEMM with 8x48 tiles of pairs of channels in plain vectors, to prove the logic
// of the variant on machines without its instructions; never chosen by itself.
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic; see the variant. Sums of pairs
// here round twice.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT
#define CONV_NC 192
#define CONV_BF16
#define CONV_DOT
#define CONV_FN ridge_conv2d_bf16_avx512bf16_model
#define RIDGE_MICRO_INT
#define MODEL_HIGH(u) ((ridge_vf)((ridge_vi)(u) & (int32_t)0xffff0000))
#define MODEL_LOW(u) ((ridge_vf)((ridge_vu)(u) << 16))
#define RIDGE_DOT2(acc, b, a) ((ridge_vi)((ridge_vf)(acc) + MODEL_HIGH(b) * MODEL_HIGH(a) + MODEL_LOW(b) * MODEL_LOW(a)))
#include "conv_gemm_body.h"
