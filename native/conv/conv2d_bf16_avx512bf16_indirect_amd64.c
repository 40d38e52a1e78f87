// conv2d_bf16_avx512bf16_indirect: implicit GEMM through pixel pointers, 7x64 tiles of pairs of channels.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: vdpbf16ps, 32 products each, one
// a cycle on Zen 4 and two on Zen 5: 28 or 14 cycles for a pair, 10 loads of the panel and 7 broadcasts beside them. It flushes denormals; sums are fp32.
// NHWC images with whole pairs of channels are read in place: nothing is widened.
// Versions: 1, 8x32 tiles. 2, 7x64, taps outside the image left out, no pointers for 1x1 layers, stems without padded pixels: docs/kernels/conv.md, Zen 5.
// 3, two vectors of sums rounded by one instruction and stored as 64 bytes, the next tile's pixels and lines of y asked for where they lie beyond L2:
// docs/kernels/conv.md, Zen 4.
// 4, stems in NHWC read in place with one pointer a pixel: docs/kernels/conv.md, Zen 4.
// 5, sums leave a tile pixel by pixel: 1x1 layers over 64 channels 1.01 to 1.04 times as fast.
// 6, few output channels as conv2d_fp32_avx512_indirect: 3x3 to 16 1.08, to 12 1.2, to 4 3.7.
// 7, as version 8 of conv2d_fp32_avx512_indirect: 7x7 over 8 channels to 16 1.13; K % 16 channels from registers: 1x1 1.02 to 1.2.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 7
#define RIDGE_NV 4
#define RIDGE_WIDE 12
#define CONV_FEW 8
#define RIDGE_VT __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define CONV_BF16
#define CONV_DOT
#define CONV_HALVES
#define CONV_KEPT (512 << 10)
#define CONV_FN ridge_conv2d_bf16_avx512bf16_indirect
#define RIDGE_DOT(acc, b, x) ((ridge_vf)_mm512_dpbf16_ps((__m512)(acc), (__m512bh)(b), (__m512bh)(x)))
#define RIDGE_NARROW(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(v)))
#define RIDGE_NARROW2(p, low, high) _mm512_storeu_si512((p), (__m512i)_mm512_cvtne2ps_pbh((__m512)(high), (__m512)(low)))
#define CONV_EDGES
#define CONV_KC 1152
#define CONV_MAC "vdpbf16ps"
#include "conv_indirect_body.h"
