// conv2d_bf16_avx512bf16_indirect: implicit GEMM through pixel pointers, 8x32 tiles of pairs of channels.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: vdpbf16ps, 32 products each, one
// a cycle on Zen 4: 16 cycles for a pair, 2 loads and 8 broadcasts beside them. It flushes denormals; sums are fp32.
// NHWC images with whole pairs of channels are read in place: nothing is widened.
// Versions: 1, this one.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define CONV_BF16
#define CONV_DOT
#define CONV_KEPT (512 << 10)
#define CONV_FN ridge_conv2d_bf16_avx512bf16_indirect
#define RIDGE_DOT(acc, b, x) ((ridge_vf)_mm512_dpbf16_ps((__m512)(acc), (__m512bh)(b), (__m512bh)(x)))
#define RIDGE_NARROW(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(v)))
#include "conv_indirect_body.h"
