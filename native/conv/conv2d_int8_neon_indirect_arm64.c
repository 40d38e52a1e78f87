// conv2d_int8_neon_indirect: implicit GEMM through pixel pointers, 6x8 tiles, bytes as int16 pairs.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// two 32-bit multiply-adds for a pair, no dot product instruction needed.
// Versions: 1, this one; tested under emulation, not timed.
#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_neon_indirect
// Two products of int16 halves, in 32-bit arithmetic.
#define RIDGE_DOT2(acc, b, a) \
  ((ridge_vi)((ridge_vu)(acc) + (ridge_vu)(((b) << 16 >> 16) * ((a) << 16 >> 16)) + (ridge_vu)(((b) >> 16) * ((a) >> 16))))
#include "conv_indirect_body.h"
