// conv2d_int8_avx512vnni_indirect: implicit GEMM through pixel pointers, 7x64 tiles of four channels.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: vpdpbusd, 64 products each, one a cycle on
// Zen 4, two on Zen 5: 28 or 14 cycles for four channels, 10 loads of the panel and 7 broadcasts beside them; exact, as no step saturates. x is
// copied as x + 128, and sums start at -128 times the filter's sum, counted once per panel.
// Versions: 1, pairs of int16 with vpdpwssd, half the products an instruction.
// 2, vpdpbusd, panels kept between blocks. 3, 7x64 tiles (before: 8x32), stems without padded pixels.
// 4, the next tile's lines of y asked for where they lie beyond L2 (its pixels are copies, near already).
// 5, four vectors of sums requantised and stored as one: 1x1 layers over 64 channels 1.04 times as fast.
// 6, few output channels as conv2d_fp32_avx512_indirect: 3x3 to 16 1.3, to 12 1.9, to 4 3.0; 1x1 to 12 6.
// 7, rows of taps in one run up to 64 channels: 3x3 1.04 to 1.3; K % 16 channels from registers: 1x1 1.06 to 1.2.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 7
#define RIDGE_NV 4
#define RIDGE_WIDE 12
#define CONV_FEW 8
#define RIDGE_VT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")))
#define CONV_INT8
#define CONV_DOT
#define CONV_KEPT (512 << 10)
#define CONV_FN ridge_conv2d_int8_avx512vnni_indirect
#define RIDGE_DOT(acc, b, x) ((ridge_vi)_mm512_dpbusd_epi32((__m512i)(acc), (__m512i)(x), (__m512i)(b)))
#define CONV_KC 1152
#define CONV_MAC "vpdpbusd"
#include "conv_indirect_body.h"
