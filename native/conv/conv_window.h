// What the indirect convolution copies: the window of x that a block of pixels sees, where x cannot
// be read in place, and the filters of a slab as a panel.
#ifndef RIDGE_CONV_WINDOW_H
#define RIDGE_CONV_WINDOW_H

#include "conv_plan.h"

RIDGE_VT static void widen_run(const xt *src, int64_t n, wt *dst) {
  for (int64_t i = 0; i < n; i++) dst[i] = widen(src[i]);
}

RIDGE_INLINE RIDGE_VT void copy_sixteen(const xt *src, wt *dst) {
#if defined(CONV_FP32) || defined(CONV_BF16) && defined(CONV_DOT)
  memcpy(dst, src, 16 * sizeof(xt));
#else
  xt in[16];
  wt out[16];
  memcpy(in, src, sizeof in);
  RIDGE_UNROLL_ALL
  for (int i = 0; i < 16; i++) out[i] = widen(in[i]);
  memcpy(dst, out, sizeof out);
#endif
}

// Copies input row hi of image n, columns from .. from+cols-1, zeros where there is no image.
RIDGE_VT static void copy_row(const shape *s, int64_t g, int64_t n, int64_t hi, int64_t from, int64_t cols, wt *dst) {
  const ridge_conv_args *a = s->a;
  int64_t c0 = from < 0 ? -from : 0, c1 = a->W - from < cols ? a->W - from : cols, pixel = s->px;
  if (hi < 0 || hi >= a->H || c1 <= c0) c0 = c1 = cols;
  memset(dst, PADDING, (size_t)(c0 * pixel) * sizeof(wt));
  memset(dst + c1 * pixel, PADDING, (size_t)((cols - c1) * pixel) * sizeof(wt));
  if (c0 == c1) return;
  const xt *x = a->x;
  if (a->layout == 0) {
    turn_row(x + ((n * a->C + g * s->cg) * a->H + hi) * a->W + from + c0, a->H * a->W, s->cg, c1 - c0, pixel, dst + c0 * pixel);
    return;
  }
  const xt *row = x + ((n * a->H + hi) * a->W + from + c0) * a->C + g * s->cg;
  if (a->groups == 1 && pixel == s->cg) {
    widen_run(row, (c1 - c0) * pixel, dst + c0 * pixel);
    return;
  }
#if defined(CONV_DOT)
  if (s->cg == 3 && pixel == 4) { // pixels of a photograph, padded to four
    for (int64_t c = c0; c < c1; c++) {
      const xt *rgb = row + (c - c0) * a->C;
      dst[4 * c] = widen(rgb[0]), dst[4 * c + 1] = widen(rgb[1]), dst[4 * c + 2] = widen(rgb[2]), dst[4 * c + 3] = PADDING;
    }
    return;
  }
#endif
  if (pixel == s->cg && pixel % 16 == 0) { // the next group's pixels, which follow, are asked for
    dst += c0 * pixel;
    for (int64_t c = c0; c < c1; c++, row += a->C, dst += pixel)
      for (int64_t i = 0; i < pixel; i += 16) {
        __builtin_prefetch(row + pixel + i);
        copy_sixteen(row + i, dst + i);
      }
    return;
  }
  for (int64_t c = c0; c < c1; c++) {
    widen_run(row + (c - c0) * a->C, s->cg, dst + c * pixel);
    for (int64_t i = s->cg; i < pixel; i++) dst[c * pixel + i] = PADDING;
  }
}

// Rows of a panel of so many vectors from n neighbouring elements of `vectors` times VL filters, ld apart: VL filters at a time, a cache line
// of each at once, for filters that lie a multiple of 4 KiB apart meet in one set of L1. No hardware follows 32 streams: on Zen 4
// a panel from DRAM takes 39 cycles for a vector of 16, with lines asked for four ahead 13, from L3 8.2 and 6.5.
// `filters`: how many there are, whole eights where vectors have 16; zeros behind them.
RIDGE_VT static void pack_run(const xt *w, int64_t ld, int64_t n, int64_t filters, int vectors, me *dst) {
  int64_t i = 0;
  for (int64_t end = n / (4 * PAIR) * (4 * PAIR), stop; i < end; i = stop) {
    stop = i + 16 * PAIR < end ? i + 16 * PAIR : end;
#if RIDGE_VL == 16
    for (int v = 0; v < 2 * vectors; v++)
      for (int64_t e = i; e < stop; e += 4 * PAIR) {
        half out[4] = {{0}};
        const xt *from = w + v * 8 * ld + e;
        if (v * 8 < filters) turn_eight(from, ld, out);
        for (int64_t l = (e - i) / (2 * PAIR), m = l + 2; l < m && v * 8 < filters; l++) // of two of these filters, four lines on
          __builtin_prefetch(w + (v * 8 + l) * ld + i + 256 / (int64_t)sizeof(xt), 0, 2);
        for (int j = 0; j < 4; j++) *(half_any *)(dst + (e / PAIR + j) * vectors * VL + v * 8) = out[j];
      }
#else
    for (int v = 0; v < vectors; v++)
      for (int64_t e = i; e < stop; e += 4 * PAIR) {
        mv out[4];
        turn_elements(w + v * VL * ld + e, ld, out);
        for (int j = 0; j < 4; j++) *(mv_any *)(dst + ((e / PAIR + j) * vectors + v) * VL) = out[j];
      }
#endif
  }
  for (; i < n; i += PAIR)
    for (int l = 0; l < vectors * VL; l++) {
      if (l >= filters) {
        dst[i / PAIR * vectors * VL + l] = 0;
        continue;
      }
#if defined(CONV_DOT)
      xt unit[PAIR] = {0};
      for (int64_t j = 0; j < PAIR && i + j < n; j++) unit[j] = w[l * ld + i + j];
      memcpy(dst + i / PAIR * vectors * VL + l, unit, sizeof unit);
#elif defined(CONV_INT8)
      uint32_t hi = i + 1 < n ? (uint32_t)(int32_t)w[l * ld + i + 1] << 16 : 0;
      dst[i / PAIR * vectors * VL + l] = (int32_t)(hi | (uint16_t)(int16_t)w[l * ld + i]);
#else
      dst[i * vectors * VL + l] = widen(w[l * ld + i]);
#endif
    }
}

// The same, element by element, for panels that are not full and for NCHW filters: element e of
// tap t (of the slab's taps t0 .. t1-1, elements e0 .. e1-1) of channel k.
RIDGE_INLINE xt filter_at(const shape *s, int64_t k, int64_t t, int64_t e) {
  const ridge_conv_args *a = s->a;
  int64_t tap = s->merged ? t * a->S + e / s->px : t, c = s->merged ? e % s->px : e, all = a->R * a->S;
  if (c >= s->cg) return 0;
  return ((const xt *)a->w)[k * s->cg * all + (a->layout == 0 ? c * all + tap : tap * s->cg + c)];
}

static void pack_slowly(const shape *s, int64_t k, int64_t n, int64_t t0, int64_t t1, int64_t e0, int64_t e1, int vectors, me *dst) {
  for (int64_t t = t0; t < t1; t++)
    for (int64_t e = e0; e < e1; e += PAIR, dst += vectors * VL)
      for (int64_t l = 0; l < vectors * VL; l++) {
#if defined(CONV_DOT)
        xt unit[PAIR] = {0};
        for (int64_t j = 0; j < PAIR && e + j < e1 && l < n; j++) unit[j] = filter_at(s, k + l, t, e + j);
        memcpy(dst + l, unit, sizeof unit);
#elif defined(CONV_INT8)
        uint32_t lo = l < n ? (uint16_t)(int16_t)filter_at(s, k + l, t, e) : 0;
        uint32_t hi = l < n && e + 1 < e1 ? (uint32_t)(int32_t)filter_at(s, k + l, t, e + 1) << 16 : 0;
        dst[l] = (int32_t)(lo | hi);
#else
        dst[l] = l < n ? widen(filter_at(s, k + l, t, e)) : 0;
#endif
      }
}

#if defined(CONV_INT8) || defined(CONV_DOT)
// NCHW, full panels: units of channels, four taps at a time (the last four overlap). False where the shape has
// incomplete units, merged taps or fewer taps.
RIDGE_VT static int pack_turned(const shape *s, int64_t k, int64_t e0, int64_t e1, int vectors, me *dst) {
  int64_t taps = s->a->R * s->a->S, ld = s->cg * taps, across = (e1 - e0) / PAIR;
  if (taps < 4 || s->merged || s->cg % PAIR != 0) return 0;
  const xt *w = (const xt *)s->a->w + k * ld + e0 * taps;
  for (int64_t c = 0; c < across; c++, w += PAIR * taps)
    for (int64_t t = 0; t < taps; t += 4) {
      if (t + 4 > taps) t = taps - 4;
      for (int v = 0; v < vectors; v++) {
        mv out[4];
        turn_pairs(w + v * VL * ld + t, ld, taps, out);
        for (int j = 0; j < 4; j++) *(mv_any *)(dst + (((t + j) * across + c) * vectors + v) * VL) = out[j];
      }
    }
  return 1;
}
#else
// NCHW, full panels: a slab is neighbouring elements (channel, tap) of the filter; each goes to its tap's row.
RIDGE_VT static int pack_turned(const shape *s, int64_t k, int64_t e0, int64_t e1, int vectors, me *dst) {
  const ridge_conv_args *a = s->a;
  int64_t taps = a->R * a->S, ld = s->cg * taps, c0 = s->merged ? 0 : e0, c1 = s->merged ? s->cg : e1;
  int64_t n = (c1 - c0) * taps, across = s->merged ? s->cg : c1 - c0, row = 0, tap = 0;
  const xt *w = (const xt *)a->w + k * ld + c0 * taps;
  for (int64_t i = 0; i < n; i += 4) {
    int64_t at[4], m = n - i < 4 ? n - i : 4;
    for (int64_t j = 0; j < m; j++) {
      at[j] = (row + tap * across) * vectors * VL; // merged taps: (r*S + s)*cg + c, the same
      if (++tap == taps) tap = 0, row++;
    }
    for (int v = 0; v < vectors && m == 4; v++) {
      mv out[4];
      turn_elements(w + v * VL * ld + i, ld, out);
      for (int j = 0; j < 4; j++) *(mv_any *)(dst + at[j] + v * VL) = out[j];
    }
    for (int64_t j = 0; j < m && m < 4; j++)
      for (int l = 0; l < vectors * VL; l++) dst[at[j] + l] = widen(w[l * ld + i + j]);
  }
  return 1;
}
#endif

// Asks for part i of n of the filter elements that a panel will be packed from.
RIDGE_VT static void fetch_panel(const shape *s, int64_t g, int64_t p, int64_t t0, int64_t t1, int64_t e0, int64_t e1,
                                 int64_t i, int64_t n) {
  int64_t all = s->a->R * s->a->S, ld = s->cg * all, first = s->a->layout == 0 ? e0 * all : t0 * s->len + e0;
  int64_t len = s->a->layout == 0 ? (e1 - e0) * all : (t1 - t0 - 1) * s->len + e1 - e0;
  int64_t rows = panel_channels(s, p);
  if (s->merged) first = 0, len = ld;
  for (int64_t l = rows * i / n; l < rows * (i + 1) / n; l++) {
    const xt *w = (const xt *)s->a->w + (g * s->kg + panel_channel(s, p) + l) * ld + first;
    for (int64_t e = 0; e < len; e += 64 / (int64_t)sizeof(xt)) __builtin_prefetch(w + e, 0, 2);
  }
}

#if defined(CONV_DOT)
// The filters of a slab (NCHW: elements e0 .. e1-1 of all taps; merged taps: whole filters) in the order that orders() names.
static void order(const shape *s, int64_t k, int64_t e0, int64_t e1, int vectors, xt *out) {
  const ridge_conv_args *a = s->a;
  int64_t all = a->R * a->S, c0 = s->merged ? 0 : e0, c1 = s->merged ? s->cg : e1;
  int64_t pixel = s->merged ? s->px : packed(e1 - e0) * PAIR, tap = a->layout == 0 ? 1 : s->cg, chan = a->layout == 0 ? all : 1;
  for (int64_t l = 0; l < vectors * VL; l++) {
    const xt *w = (const xt *)a->w + (k + l) * s->cg * all + c0 * chan;
    for (int64_t t = 0; t < all; t++, w += tap, out += pixel) {
      for (int64_t c = 0; c < c1 - c0; c++) out[c] = w[c * chan];
      for (int64_t c = c1 - c0; c < pixel; c++) out[c] = 0;
    }
  }
}
#endif

#if defined(CONV_FEW)
// The panel of few output channels: [tap][vector of elements][channel][VL], zeros behind a tap's last element.
RIDGE_VT static void pack_few(const shape *s, int64_t t0, int64_t t1, int64_t e0, int64_t e1, me *dst) {
#if defined(CONV_DOT)
  typedef xt factor;
#else
  typedef me factor;
#endif
  const int64_t row = VL * PAIR, ld = s->taps * s->len;
  const int direct = s->a->layout == 1 || s->a->R * s->a->S == 1;
  for (int64_t t = t0; t < t1; t++)
    for (int64_t e = e0; e < e1; e += row)
      for (int64_t k = 0; k < s->few; k++, dst += VL) {
        const int64_t n = e1 - e < row ? e1 - e : row;
        const xt *w = (const xt *)s->a->w + k * ld + t * s->len + e;
        factor out[VL * PAIR] = {0};
        for (int64_t i = 0; i < n; i++) {
          const xt x = direct ? w[i] : filter_at(s, k, t, e + i);
#if defined(CONV_DOT)
          out[i] = x;
#else
          out[i] = widen(x);
#endif
        }
        memcpy(dst, out, sizeof out);
      }
}
#endif

// Panel p of group g for a slab.
RIDGE_VT static void pack_filters(const shape *s, int64_t g, int64_t p, int64_t t0, int64_t t1, int64_t e0, int64_t e1, xt *room,
                                  me *dst) {
#if defined(CONV_FEW)
  if (s->few) {
    pack_few(s, t0, t1, e0, e1, dst);
    return;
  }
#endif
  const ridge_conv_args *a = s->a;
  int64_t k = g * s->kg + panel_channel(s, p), n = panel_channels(s, p), all = a->R * a->S, ld = s->cg * all;
  const int vectors = (int)panel_width(s, p);
  const int direct = !orders(s) && s->px == s->cg && (a->layout == 1 || all == 1);
  if (n % (direct && VL > 8 ? 8 : VL) != 0) {
    pack_slowly(s, k, n, t0, t1, e0, e1, vectors, dst);
#if defined(CONV_DOT)
  } else if (orders(s)) {
    int64_t len = order_of(s, e1 - e0);
    order(s, k, e0, e1, vectors, room);
    if (s->merged)
      for (int64_t t = t0; t < t1; t++, dst += packed(s->len) * vectors * VL) pack_run(room + t * s->len, len, s->len, n, vectors, dst);
    else pack_run(room, len, len, n, vectors, dst);
#endif
  } else if (a->layout == 1 || all == 1) {
    const xt *w = (const xt *)a->w + k * ld;
    for (int64_t t = t0; t < t1; t++, dst += packed(e1 - e0) * vectors * VL) pack_run(w + t * s->len + e0, ld, e1 - e0, n, vectors, dst);
  } else if (!pack_turned(s, k, e0, e1, vectors, dst)) {
    pack_slowly(s, k, n, t0, t1, e0, e1, vectors, dst);
  }
  (void)room;
}

// The same with the row that sums start at: x came as x + 128, so they start at -128 times the sum of the filter.
RIDGE_VT static void pack_panel(const shape *s, int64_t g, int64_t p, int64_t t0, int64_t t1, int64_t e0, int64_t e1, xt *room,
                                me *dst) {
  pack_filters(s, g, p, t0, t1, e0, e1, room, dst + HEAD * panel_width(s, p) * VL);
#if defined(CONV_DOT) && defined(CONV_INT8)
  const slab part = {t0, t1, e0, e1};
  const int64_t rows = slab_rows(s, &part) - HEAD;
  const int64_t vectors = panel_width(s, p);
  for (int64_t v = 0; v < vectors; v++) {
    mv sum = {0};
    for (int64_t r = 1; r <= rows; r++) sum = RIDGE_DOT(sum, *(const mv_any *)(dst + (r * vectors + v) * VL), splat(0x01010101));
    *(mv_any *)(dst + v * VL) = (mv)((ridge_vu)sum * -128u);
  }
#endif
}

#endif
