// conv2d_int8_neon_planes: direct convolution along the pixels of planes, tiles of 4 outputs by 24 pixels of units of channels.
//
// Formula, layouts, floor and source: conv_planes_body.h. Preconditions: sizes below 2^30, steps of at most 4, any alignment. FLOP
// 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic; pairs of channels; exact.
// Versions: 1, this one; tested under emulation, not timed.
#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_NV 6
#define RIDGE_VT
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_neon_planes
// Two products of int16 halves, in 32-bit arithmetic.
#define RIDGE_DOT2(acc, b, a) \
  ((ridge_vi)((ridge_vu)(acc) + (ridge_vu)(((b) << 16 >> 16) * ((a) << 16 >> 16)) + (ridge_vu)(((b) >> 16) * ((a) >> 16))))
#include "conv_planes_body.h"
