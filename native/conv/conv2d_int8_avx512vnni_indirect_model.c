// conv2d_int8_avx512vnni_indirect_model: implicit GEMM through pixel pointers, 7x64 tiles of four channels in plain vectors, to prove the logic of the variant on machines without its
// instructions; never chosen by itself.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// see the variant.
// Versions: 1, pairs of int16. 2, as the variant; the model.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 7
#define RIDGE_NV 4
#define RIDGE_WIDE 12
#define CONV_FEW 8
#define RIDGE_VT
#define CONV_INT8
#define CONV_DOT
#define CONV_KEPT (512 << 10)
#define CONV_FN ridge_conv2d_int8_avx512vnni_indirect_model
// Four products of unsigned x and signed b, in 32-bit arithmetic.
#define MODEL_BYTES(b, x, q) ((ridge_vu)((ridge_vi)((ridge_vu)(b) << (24 - 8 * (q))) >> 24) * ((ridge_vu)(x) >> (8 * (q)) & 255))
#define RIDGE_DOT(acc, b, x) \
  ((ridge_vi)((ridge_vu)(acc) + MODEL_BYTES(b, x, 0) + MODEL_BYTES(b, x, 1) + MODEL_BYTES(b, x, 2) + MODEL_BYTES(b, x, 3)))
#define CONV_KC 1152
#include "conv_indirect_body.h"
