// conv2d_int8_avx512vnni_planes_model: direct convolution along the pixels of planes, tiles of 4 outputs by 96 pixels of units of channels in plain vectors,
// to prove the logic of the variant on machines without its instructions; never chosen by itself.
//
// Formula, layouts, floor and source: conv_planes_body.h. Preconditions: sizes below 2^30, steps of at most 4, any alignment. FLOP
// 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic; see the variant; exact.
// Versions: 1, this one; the model.

//go:build !nomodels
#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_NV 6
#define RIDGE_VT
#define CONV_INT8
#define CONV_DOT
#define CONV_FN ridge_conv2d_int8_avx512vnni_planes_model
// Four products of unsigned x and signed b, in 32-bit arithmetic.
#define MODEL_BYTES(b, x, q) ((ridge_vu)((ridge_vi)((ridge_vu)(b) << (24 - 8 * (q))) >> 24) * ((ridge_vu)(x) >> (8 * (q)) & 255))
#define RIDGE_DOT(acc, b, x) \
  ((ridge_vi)((ridge_vu)(acc) + MODEL_BYTES(b, x, 0) + MODEL_BYTES(b, x, 1) + MODEL_BYTES(b, x, 2) + MODEL_BYTES(b, x, 3)))
#include "conv_planes_body.h"
