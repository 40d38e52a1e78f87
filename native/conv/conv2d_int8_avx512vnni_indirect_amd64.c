// conv2d_int8_avx512vnni_indirect: implicit GEMM through pixel pointers, 8x32 tiles, bytes as int16 pairs.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 8 cycles for a pair of elements at two VPDPWSSD a cycle, 512 multiply-adds; exact, as no step saturates.
// Versions: 1, this one; its logic was tested through the model only.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")))
#define CONV_INT8
#define CONV_FN ridge_conv2d_int8_avx512vnni_indirect
#define RIDGE_DOT2(acc, b, a) ((ridge_vi)_mm512_dpwssd_epi32((__m512i)(acc), (__m512i)(b), (__m512i)(a)))
#include "conv_indirect_body.h"
