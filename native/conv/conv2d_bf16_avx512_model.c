// conv2d_bf16_avx512_model: implicit GEMM with 8x48 tiles, bf16 widened while packing in plain vectors, to prove the logic
// of the variant on machines without its instructions; never chosen by itself.
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 12 cycles per k at two FMA a cycle; VDPBF16PS is slower than fp32 FMA on several chips and
// rounds differently.
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
#define CONV_FN ridge_conv2d_bf16_avx512_model
#include "conv_gemm_body.h"
