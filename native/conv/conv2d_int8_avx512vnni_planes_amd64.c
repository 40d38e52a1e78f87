// conv2d_int8_avx512vnni_planes: direct convolution along the pixels of planes, tiles of 4 outputs by 96 pixels of units of channels.
//
// Formula, layouts, floor and source: conv_planes_body.h. Preconditions: sizes below 2^30, steps of at most 4, any alignment. FLOP
// 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic; an element's 24 vpdpbusd take four channels each; exact.
// Versions: 1, this one; places listed by runs, rows that end in zeros by a mask, 16 outputs over all pixels before the next: docs/kernels/conv.md.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_NV 6
#define RIDGE_VT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")))
#define CONV_INT8
#define CONV_DOT
#define CONV_FN ridge_conv2d_int8_avx512vnni_planes
#define RIDGE_DOT(acc, b, x) ((ridge_vi)_mm512_dpbusd_epi32((__m512i)(acc), (__m512i)(x), (__m512i)(b)))
#include "conv_planes_body.h"
