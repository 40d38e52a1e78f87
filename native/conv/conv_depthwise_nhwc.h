// Depthwise convolution in NHWC: DW_T neighbouring outputs of a row at once, DW_K channels (a cache line in fp32).
//
// For every tap a vector of weights meets its input of each output: the pixels are pointers, those outside the
// image point to zeros, so that there is one path for all kernels, steps and dilations. Filters lie as
// [DW_K channels][tap][DW_K], in the order of use. A line of x or y is taken whole: images of 2^n channels put the
// columns of all rows into few sets of L1, and half a line would be gone before its second half is asked for.
// Per tap on AVX2: 14 FMA that read x from memory, 2 loads of weights and 7 of pointers: 8 cycles, limited by two
// vector loads a cycle; 3x3: 72 cycles for 896 bytes of x and y. L2 then delivers 34 lines, 68 cycles.
// Channels and outputs that fill no block are done with their neighbours again (the last ones overlap).
#ifndef RIDGE_CONV_DEPTHWISE_NHWC_H
#define RIDGE_CONV_DEPTHWISE_NHWC_H

#include "conv_vector.h"

#if defined(CONV_FP32)
enum { DW_T = 7 };
#else
enum { DW_T = 4 }; // widened inputs need registers of their own
#endif
enum { DW_U = RIDGE_VL == 16 ? 1 : 2, DW_K = DW_U * RIDGE_VL, DW_TAPS = 128 };

RIDGE_INLINE int depthwise_blocked(const ridge_conv_args *a) { return a->K >= DW_K && a->R * a->S <= DW_TAPS; }

// First channel of chunk i.
RIDGE_INLINE int64_t depthwise_chunk(int64_t K, int64_t i) { return (i + 1) * DW_K <= K ? i * DW_K : K - DW_K; }

// Outputs at, at+K, ... of T columns; x: [taps][T] pointers to channel 0.
RIDGE_INLINE RIDGE_VT void depthwise_block(const ridge_conv_args *a, const int T, const xt *const *x, const me *w, int64_t at) {
  int64_t taps = a->R * a->S;
  for (int64_t i = 0; i < ceil_div(a->K, DW_K); i++) {
    int64_t k = depthwise_chunk(a->K, i);
    mv acc[DW_T][DW_U];
    RIDGE_UNROLL_ALL
    for (int o = 0; o < T; o++) {
      RIDGE_UNROLL_ALL
      for (int u = 0; u < DW_U; u++) acc[o][u] = (mv){0};
    }
    const xt *const *p = x;
    for (int64_t t = 0; t < taps; t++, w += DW_K, p += T) {
      mv f[DW_U];
      RIDGE_UNROLL_ALL
      for (int u = 0; u < DW_U; u++) f[u] = *(const mv_any *)(w + u * VL);
      RIDGE_UNROLL_ALL
      for (int o = 0; o < T; o++) {
        RIDGE_UNROLL_ALL
        for (int u = 0; u < DW_U; u++) acc[o][u] += load_vector(p[o] + k + u * VL) * f[u];
      }
    }
    RIDGE_UNROLL_ALL
    for (int o = 0; o < T; o++) {
      RIDGE_UNROLL_ALL
      for (int u = 0; u < DW_U; u++) finish_channels(a, acc[o][u], k + u * VL, at + o * a->K + k + u * VL);
    }
  }
}

__attribute__((noinline)) RIDGE_VT static void depthwise_full(const ridge_conv_args *a, const xt *const *x, const me *w, int64_t at) {
  depthwise_block(a, DW_T, x, w, at);
}
__attribute__((noinline)) RIDGE_VT static void depthwise_one(const ridge_conv_args *a, const xt *const *x, const me *w, int64_t at) {
  depthwise_block(a, 1, x, w, at);
}

// Output row ho of image n; zeros: K elements.
RIDGE_VT static void depthwise_row(const ridge_conv_args *a, int64_t n, int64_t ho, const me *w, const xt *zeros) {
  const xt *x[DW_TAPS * DW_T], *image = (const xt *)a->x + n * a->H * a->W * a->C;
  int64_t T = a->Wo < DW_T ? 1 : DW_T, row = (n * a->Ho + ho) * a->Wo;
  for (int64_t wo = 0; wo < a->Wo; wo += T) {
    if (wo + T > a->Wo) wo = a->Wo - T;
    const xt **p = x;
    for (int64_t r = 0; r < a->R; r++)
      for (int64_t s = 0; s < a->S; s++) {
        int64_t h = ho * a->stride_h - a->pad_h + r * a->dil_h, c = wo * a->stride_w - a->pad_w + s * a->dil_w;
        for (int64_t o = 0; o < T; o++, c += a->stride_w)
          *p++ = h >= 0 && h < a->H && c >= 0 && c < a->W ? image + (h * a->W + c) * a->C : zeros;
      }
    if (T == DW_T) depthwise_full(a, x, w, (row + wo) * a->K);
    else depthwise_one(a, x, w, (row + wo) * a->K);
  }
}

// Filters [K][taps] in the order of use.
RIDGE_VT static void turn_filters(const ridge_conv_args *a, me *out) {
  int64_t taps = a->R * a->S;
  for (int64_t i = 0; i < ceil_div(a->K, DW_K); i++, out += taps * DW_K) {
    const xt *w = (const xt *)a->w + depthwise_chunk(a->K, i) * taps;
    int64_t t = 0;
#if !defined(CONV_INT8)
    for (; t + 4 <= taps; t += 4)
      for (int u = 0; u < DW_U; u++) {
        mv four[4];
        turn_elements(w + u * VL * taps + t, taps, four);
        for (int j = 0; j < 4; j++) *(mv_any *)(out + (t + j) * DW_K + u * VL) = four[j];
      }
#endif
    for (; t < taps; t++)
      for (int l = 0; l < DW_K; l++) out[t * DW_K + l] = load_one(w + l * taps + t);
  }
}

#endif
