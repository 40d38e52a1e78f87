// conv2d_int8_avx2: implicit GEMM with 6x16 tiles (bytes widened to int16 pairs, vpmaddwd + vpaddd: exact).
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic,
// 24 vector operations per pair of k and tile: 192 multiply-adds in 8 cycles at three a cycle; packing costs about one
// load and store per panel element, shared by all channels of a task.
// Versions: 1, this one.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_avx2
#define RIDGE_MICRO_INT
#define RIDGE_DOT2(acc, b, a) \
  ((ridge_vi)((vu32)(acc) + (vu32)__builtin_ia32_pmaddwd256((short16)(b), (short16)(a))))
typedef uint32_t vu32 __attribute__((vector_size(32)));
typedef short short16 __attribute__((vector_size(32)));
#include "conv_gemm_body.h"
