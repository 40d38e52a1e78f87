// conv2d_int8_avx2_indirect: implicit GEMM through pixel pointers, 6x16 tiles (bytes widened to int16 pairs, vpmaddwd + vpaddd: exact).
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 24 vector operations for a pair of elements of 6 pixels and 16 channels, 192 multiply-adds in 7.5 cycles at the 1.6 pairs a
// cycle that Zen 3 reaches.
// Versions: 1, this one.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_avx2_indirect
#define RIDGE_DOT2(acc, b, a) \
  ((ridge_vi)((vu32)(acc) + (vu32)__builtin_ia32_pmaddwd256((short16)(b), (short16)(a))))
typedef uint32_t vu32 __attribute__((vector_size(32)));
typedef short short16 __attribute__((vector_size(32)));
#include "conv_indirect_body.h"
