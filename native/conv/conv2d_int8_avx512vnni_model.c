// conv2d_int8_avx512vnni_model: implicit GEMM with 8x48 tiles, bytes as int16 pairs in plain vectors, to prove the logic
// of the variant on machines without its instructions; never chosen by itself.
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 12 cycles per 2 k at two VPDPWSSD a cycle, 768 multiply-adds; exact, as no step saturates.
// Versions: 1, this one; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT
#define CONV_NC 192
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_avx512vnni_model
#define RIDGE_MICRO_INT
// Two products of int16 halves, in 32-bit arithmetic.
#define RIDGE_DOT2(acc, b, a) \
  ((ridge_vi)((ridge_vu)(acc) + (ridge_vu)(((b) << 16 >> 16) * ((a) << 16 >> 16)) + (ridge_vu)(((b) >> 16) * ((a) >> 16))))
#include "conv_gemm_body.h"
