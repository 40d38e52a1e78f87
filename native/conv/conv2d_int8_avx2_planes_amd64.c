// conv2d_int8_avx2_planes: direct convolution along the pixels of planes, tiles of 4 outputs by 16 pixels of units of channels.
//
// Formula, layouts, floor and source: conv_planes_body.h. Preconditions: sizes below 2^30, steps of at most 4, any alignment. FLOP
// 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic; pairs of channels by vpmaddwd; exact.
// Versions: 1, this one.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_avx2_planes
#define RIDGE_DOT2(acc, b, a) \
  ((ridge_vi)((vu32)(acc) + (vu32)__builtin_ia32_pmaddwd256((short16)(b), (short16)(a))))
typedef uint32_t vu32 __attribute__((vector_size(32)));
typedef short short16 __attribute__((vector_size(32)));
#include "conv_planes_body.h"
