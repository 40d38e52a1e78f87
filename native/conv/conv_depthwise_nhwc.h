// Depthwise convolution in NHWC: DW_T neighbouring outputs of a row at once, DW_K channels (a cache line in fp32).
//
// For every group of channels the image is walked down row by row. An input row's lines are copied once, widened and with
// their padding, into a ring of as many rows as the kernel spans, where pixels of a chunk of channels lie together:
// every tap is then one load at a known distance, and the ring stays in L1. Read in place, images of 2^n channels put all
// columns into few sets of L1, and each of a block's 27 lines is fetched from L2 again for every row.
// Filters lie as [DW_K channels][tap][DW_K], in the order of use.
// Per tap on AVX2: 14 FMA that read x from memory and 2 loads of weights, 8 cycles, limited by two vector loads a
// cycle; 3x3: 72 cycles for 896 bytes of x and y, and 14 loads and stores of the copy.
// Channels and outputs that fill no block are done with their neighbours again (the last ones overlap).
#ifndef RIDGE_CONV_DEPTHWISE_NHWC_H
#define RIDGE_CONV_DEPTHWISE_NHWC_H

#include "conv_turn.h"

#if defined(CONV_INT8)
enum { DW_T = 4 }; // a product needs a register of its own
#else
enum { DW_T = 7 };
#endif
enum { DW_U = RIDGE_VL == 16 ? 1 : 2, DW_K = DW_U * RIDGE_VL, DW_L1 = 3072 }; // DW_L1: elements of a group's ring: 12 KiB, beside the lines asked for

// The ring of a group of chunks: [chunk][row][col][DW_K].
typedef struct ring {
  int64_t span, cols, group, blocked; // rows, columns; chunks; whether this path takes the convolution
} ring;

RIDGE_INLINE ring ring_of(const ridge_conv_args *a) {
  ring g = {.span = (a->R - 1) * a->dil_h + 1, .cols = (a->Wo - 1) * a->stride_w + (a->S - 1) * a->dil_w + 1};
  g.group = 1;
  if (a->layout == 0 || a->K < DW_K || g.span > 1 << 12 || g.cols > 1 << 16 || g.span * g.cols > 1 << 18) return g;
  int64_t fit = DW_L1 / (g.span * g.cols * DW_K);
  g.blocked = 1, g.group = fit < 1 ? 1 : fit > 4 ? 4 : fit;
  return g;
}

// First channel of chunk i.
RIDGE_INLINE int64_t depthwise_chunk(int64_t K, int64_t i) { return (i + 1) * DW_K <= K ? i * DW_K : K - DW_K; }

// Outputs at, at+K, ... of T columns; x: the ring's rows; first: the slot of the first input row.
RIDGE_INLINE RIDGE_VT void depthwise_block(const ridge_conv_args *a, const ring *g, const int T, const int64_t step, const me *x,
                                           int64_t first, const me *w, int64_t k, int64_t at) {
  int plain = a->act == RIDGE_ACT_NONE && !a->bias && !a->residual && !a->scale;
  mv acc[DW_T][DW_U];
  RIDGE_UNROLL_ALL
  for (int o = 0; o < T; o++) {
    __builtin_prefetch((const yt *)a->y + at + (a->Wo + o) * a->K + k, 1); // the row after this one
    RIDGE_UNROLL_ALL
    for (int u = 0; u < DW_U; u++) acc[o][u] = (mv){0};
  }
  for (int64_t r = 0; r < a->R; r++) {
    int64_t slot = first + r * a->dil_h;
    const me *p = x + (slot < g->span ? slot : slot - g->span) * g->cols * DW_K;
    for (int64_t s = 0; s < a->S; s++, w += DW_K, p += a->dil_w * DW_K) {
      mv f[DW_U];
      RIDGE_UNROLL_ALL
      for (int u = 0; u < DW_U; u++) f[u] = *(const mv_any *)(w + u * VL);
      RIDGE_UNROLL_ALL
      for (int o = 0; o < T; o++) {
        RIDGE_UNROLL_ALL
        for (int u = 0; u < DW_U; u++) acc[o][u] += *(const mv_any *)(p + o * step * DW_K + u * VL) * f[u];
      }
    }
  }
  RIDGE_UNROLL_ALL
  for (int o = 0; o < T; o++) {
    RIDGE_UNROLL_ALL
    for (int u = 0; u < DW_U; u++) {
      int64_t to = at + o * a->K + k + u * VL;
      if (plain) store_out((yt *)a->y + to, acc[o][u]);
      else finish_channels(a, acc[o][u], k + u * VL, to);
    }
  }
}

#define DEPTHWISE(name, T, step)                                                                                       \
  __attribute__((noinline)) RIDGE_VT static void name(const ridge_conv_args *a, const ring *g, const me *x,            \
                                                      int64_t first, const me *w, int64_t k, int64_t at) {             \
    depthwise_block(a, g, T, step, x, first, w, k, at);                                                                \
  }
DEPTHWISE(depthwise_1, DW_T, 1)
DEPTHWISE(depthwise_2, DW_T, 2)
DEPTHWISE(depthwise_any, 1, 0)

// Copies DW_K channels from k of an input row to a row of the ring and asks for the row after it.
RIDGE_VT static void copy_pixels(const ridge_conv_args *a, const ring *g, int64_t n, int64_t h, int64_t k, me *to) {
  int64_t c0 = a->pad_w < g->cols ? a->pad_w : g->cols, c1 = a->pad_w + a->W < g->cols ? a->pad_w + a->W : g->cols;
  if (h < 0 || h >= a->H) c0 = c1 = g->cols;
  memset(to, 0, (size_t)(c0 * DW_K) * sizeof(me));
  memset(to + c1 * DW_K, 0, (size_t)((g->cols - c1) * DW_K) * sizeof(me));
  if (c0 == c1) return;
  const xt *x = (const xt *)a->x + (n * a->H + h) * a->W * a->C + k;
  for (int64_t c = c0; c < c1; c++, x += a->C) {
    __builtin_prefetch(x + a->W * a->C);
    RIDGE_UNROLL_ALL
    for (int u = 0; u < DW_U; u++) *(mv_any *)(to + c * DW_K + u * VL) = load_vector(x + u * VL);
  }
}

// One output row of DW_K channels.
RIDGE_VT static void depthwise_row(const ridge_conv_args *a, const ring *g, const me *x, int64_t first, const me *w, int64_t k,
                                   int64_t at) {
  int64_t T = a->Wo < DW_T || a->stride_w > 2 ? 1 : DW_T;
  for (int64_t wo = 0; wo < a->Wo; wo += T) {
    if (wo + T > a->Wo) wo = a->Wo - T;
    const me *from = x + wo * a->stride_w * DW_K;
    if (T == 1) depthwise_any(a, g, from, first, w, k, at + wo * a->K);
    else if (a->stride_w == 1) depthwise_1(a, g, from, first, w, k, at + wo * a->K);
    else depthwise_2(a, g, from, first, w, k, at + wo * a->K);
  }
}

// Output rows u0 .. u1-1, counted over all images.
RIDGE_VT static void depthwise_rows(const ridge_conv_args *a, const ring *g, int64_t u0, int64_t u1, const me *w, me *rows) {
  int64_t chunks = ceil_div(a->K, DW_K), size = g->span * g->cols * DW_K, taps = a->R * a->S;
  for (int64_t u = u0, h1; u < u1; u += h1 - u % a->Ho) {
    int64_t n = u / a->Ho, h0 = u % a->Ho;
    h1 = u1 - u < a->Ho - h0 ? h0 + u1 - u : a->Ho;
    for (int64_t i0 = 0; i0 < chunks; i0 += g->group) {
      int64_t i1 = i0 + g->group < chunks ? i0 + g->group : chunks, next = h0 * a->stride_h;
      for (int64_t ho = h0; ho < h1; ho++) { // rows are counted with the padding above: row j lies in slot j mod span
        int64_t first = ho * a->stride_h, copied = next < first ? first : next;
        next = first + g->span;
        for (int64_t i = i0; i < i1; i++) {
          me *x = rows + (i - i0) * size;
          int64_t k = depthwise_chunk(a->K, i);
          for (int64_t j = copied; j < next; j++) copy_pixels(a, g, n, j - a->pad_h, k, x + j % g->span * g->cols * DW_K);
          depthwise_row(a, g, x, first % g->span, w + i * taps * DW_K, k, (n * a->Ho + ho) * a->Wo * a->K);
        }
      }
    }
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
