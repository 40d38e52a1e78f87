// What the convolution over planes copies: the rows of x that a band of output rows sees, as planes of pixels with their padding, and the filters.
#ifndef RIDGE_CONV_PLANES_WINDOW_H
#define RIDGE_CONV_PLANES_WINDOW_H

#include "conv_planes_plan.h"

#if defined(CONV_INT8) && defined(CONV_DOT)
enum { ZERO = (int32_t)0x80808080 }; // bytes of a copy are x + 128
#else
enum { ZERO = 0 };
#endif
RIDGE_INLINE RIDGE_VT mv nothing(void) { return (mv)((ridge_vi){0} + ZERO); }

// All bits of the first n lanes.
RIDGE_INLINE RIDGE_VT ridge_vi first_lanes(int64_t n) {
  ridge_vi lane;
  RIDGE_UNROLL_ALL
  for (int i = 0; i < VL; i++) lane[i] = i;
  return (ridge_vi){0} + (int32_t)n > lane;
}

// VL neighbours in memory as lanes: x's elements, which a unit is made of.
RIDGE_INLINE RIDGE_VT ridge_vi load_lanes(const xt *p) {
#if defined(CONV_BF16)
  return ridge_bf16_load(p);
#elif defined(CONV_INT8)
  return ridge_widen_s8(p);
#else
  return *(const ridge_vi_any *)p;
#endif
}
// The same of every step-th element, n of them, zeros behind; `room` elements are x's.
RIDGE_INLINE RIDGE_VT ridge_vi load_row(const xt *p, int64_t n, int64_t step, int64_t room) {
  if (step == 1 && room >= VL) return n < VL ? load_lanes(p) & first_lanes(n) : load_lanes(p);
  if (step == 2 && room >= 2 * VL) return even_lanes(load_lanes(p), load_lanes(p + VL)) & first_lanes(n);
  xt some[VL] = {0};
  for (int64_t i = 0; i < n && i < VL; i++) some[i] = p[i * step];
  return load_lanes(some);
}

// The units that rows of their channels make. (Of a last one with fewer channels the others count as 0.)
RIDGE_INLINE RIDGE_VT mv join(const ridge_vi part[PAIR]) {
#if defined(CONV_INT8) && defined(CONV_DOT)
  ridge_vu u = ((ridge_vu)part[0] & 0xff) | ((ridge_vu)part[1] & 0xff) << 8 | ((ridge_vu)part[2] & 0xff) << 16 | (ridge_vu)part[3] << 24;
  return (mv)(u ^ 0x80808080u);
#elif defined(CONV_INT8)
  return (mv)(((ridge_vu)part[0] & 0xffff) | (ridge_vu)part[1] << 16);
#else
  return (mv)part[0];
#endif
}

// n elements that stand for zeros, of which the last VL may be written twice: n is at least VL.
RIDGE_INLINE RIDGE_VT void clear(me *dst, int64_t n) {
  for (int64_t i = 0; i < n - VL; i += VL) *(mv_any *)(dst + i) = nothing();
  *(mv_any *)(dst + n - VL) = nothing();
}

// n columns of a phase of an NCHW row, `step` elements apart, of a unit of `channels` channels that lie ld apart; zeros behind them to a whole vector.
RIDGE_INLINE RIDGE_VT void copy_columns(const xt *row, int64_t ld, int64_t channels, int64_t n, int64_t step, int64_t room, me *dst) {
  for (int64_t j = 0; j < n; j += VL) {
    ridge_vi part[PAIR];
    RIDGE_UNROLL_ALL
    for (int c = 0; c < PAIR; c++) part[c] = c < channels ? load_row(row + c * ld + j * step, n - j, step, room - c * ld - j * step) : (ridge_vi){0};
    *(mv_any *)(dst + j) = join(part);
  }
}

// A step of two: the even and the odd columns of a row at once, so many of each.
RIDGE_INLINE RIDGE_VT void copy_both(const xt *row, int64_t ld, int64_t channels, int64_t even, int64_t odd, int64_t room, me *to_even, me *to_odd) {
  for (int64_t j = 0; j < even || j < odd; j += VL) {
    ridge_vi e[PAIR], o[PAIR];
    RIDGE_UNROLL_ALL
    for (int c = 0; c < PAIR; c++) {
      const int64_t at = c * ld + 2 * j, left = room - at;
      e[c] = o[c] = (ridge_vi){0};
      if (c >= channels) continue;
      xt some[2 * VL] = {0};
      const xt *p = row + at;
      if (left < 2 * VL) memcpy(some, p, (size_t)(left < 0 ? 0 : left) * sizeof(xt)), p = some;
      const ridge_vi low = load_lanes(p), high = load_lanes(p + VL);
      e[c] = even_lanes(low, high) & first_lanes(even - j), o[c] = odd_lanes(low, high) & first_lanes(odd - j);
    }
    if (j < even) *(mv_any *)(to_even + j) = join(e);
    if (j < odd) *(mv_any *)(to_odd + j) = join(o);
  }
}

// The same of NHWC pixels, `step` elements apart, to planes `ld` apart: VL pixels of VL elements turned at once.
RIDGE_INLINE RIDGE_VT void turn_columns(const xt *row, int64_t channels, int64_t n, int64_t step, int64_t room, me *dst, int64_t ld) {
  for (int64_t j = 0; j < n; j += VL)
    for (int64_t c = 0; c < channels; c += VL * PAIR) {
      ridge_vi r[VL];
      const int64_t m = least(n - j, VL), wide = least(channels - c, VL * PAIR);
      for (int64_t l = 0; l < m; l++) {
        const int64_t at = (j + l) * step + c;
#if defined(CONV_INT8)
        ridge_vu some = {0};
        int8_t bytes[VL * PAIR] = {0};
        const int8_t *p = row + at;
        if (room - at < VL * PAIR) memcpy(bytes, p, (size_t)wide), p = bytes; // else what follows: its filters are 0
#if defined(CONV_DOT)
        memcpy(&some, p, sizeof some);
        r[l] = (ridge_vi)(some ^ 0x80808080u);
#else
        for (int i = 0; i < VL; i++) some[i] = ((uint32_t)(int32_t)p[2 * i] & 0xffff) | (uint32_t)(int32_t)p[2 * i + 1] << 16;
        r[l] = (ridge_vi)some;
#endif
#else
        r[l] = load_row(row + at, wide, 1, room - at);
#endif
      }
      for (int64_t l = m; l < VL; l++) r[l] = (ridge_vi){0};
      ridge_transpose(r);
      me *to = dst + c / PAIR * ld + j;
      RIDGE_UNROLL_ALL
      for (int l = 0; l < VL; l++)
        if (l * PAIR < wide) *(mv_any *)(to + l * ld) = (mv)r[l];
    }
}

// Of a phase: its first row and column of x (a row above the image is negative), the columns that lie in the image, the zeros before them.
typedef struct part_of_x {
  int64_t top, first, wide, left;
} part_of_x;

static part_of_x part_of(const shape *s, int64_t ho, int64_t ph, int64_t pw) {
  const ridge_conv_args *a = s->a;
  const int64_t left = a->pad_w > pw ? ceil_div(a->pad_w - pw, a->stride_w) : 0, end = least(ceil_div(a->W + a->pad_w - pw, a->stride_w), s->pitch);
  return (part_of_x){ho * a->stride_h + ph - a->pad_h, left * a->stride_w + pw - a->pad_w, end > left ? end - left : 0, left};
}

// `rows` rows of the phase of a unit (NCHW): c channels from the one that begins at element `from` of x.
RIDGE_VT static void copy_phase(const shape *s, const part_of_x *p, int64_t from, int64_t c, int64_t rows, me *dst) {
  const ridge_conv_args *a = s->a;
  const int64_t room = a->N * a->C * a->H * a->W - from, between = s->pitch - p->wide < VL ? VL : s->pitch - p->wide;
  const int64_t whole = ceil_div(p->wide, VL) * VL;
  const xt *x = (const xt *)a->x + from;
  int64_t hi = p->top;
  for (int64_t j = 0; j < rows; j++, hi += a->stride_h, dst += s->pitch) {
    if (hi < 0 || hi >= a->H || p->wide == 0) {
      clear(dst, s->pitch + p->left + VL);
      continue;
    }
    const int64_t at = hi * a->W + p->first;
    if (j == 0) clear(dst, p->left + VL);
    copy_columns(x + at, a->H * a->W, c, p->wide, a->stride_w, room - at, dst + p->left);
    if (whole < s->pitch) clear(dst + p->left + p->wide, between); // also the next row's left end
  }
}

// The same of both phases of a row at a step of two, that of the even columns of x and that of the odd ones.
RIDGE_VT static void copy_phases(const shape *s, const part_of_x *even, const part_of_x *odd, int64_t from, int64_t c, int64_t rows, me *to_even, me *to_odd) {
  const ridge_conv_args *a = s->a;
  const int64_t room = a->N * a->C * a->H * a->W - from;
  const part_of_x *part[] = {even, odd};
  me *to[] = {to_even, to_odd};
  int64_t hi = even->top;
  for (int64_t j = 0; j < rows; j++, hi += a->stride_h, to[0] += s->pitch, to[1] += s->pitch) {
    const int inside = hi >= 0 && hi < a->H;
    for (int i = 0; i < 2; i++)
      if (!inside || part[i]->wide == 0) clear(to[i], s->pitch + part[i]->left + VL);
      else if (j == 0) clear(to[i], part[i]->left + VL);
    if (!inside) continue;
    copy_both((const xt *)a->x + from + hi * a->W, a->H * a->W, c, even->wide, odd->wide, room - hi * a->W, to[0] + even->left, to[1] + odd->left);
    for (int i = 0; i < 2; i++)
      if (ceil_div(part[i]->wide, VL) * VL < s->pitch) clear(to[i] + part[i]->left + part[i]->wide, s->pitch - part[i]->wide < VL ? VL : s->pitch - part[i]->wide);
  }
}

// The same of all units of groups g .. g+joint-1 (NHWC), planes `ld` apart.
RIDGE_VT static void turn_phase(const shape *s, const part_of_x *p, int64_t img, int64_t g, int64_t rows, me *dst, int64_t ld) {
  const ridge_conv_args *a = s->a;
  const int64_t size = a->N * a->C * a->H * a->W, all = s->joint * s->units, step = a->stride_w * a->C, between = s->pitch - p->wide < VL ? VL : s->pitch - p->wide;
  const int64_t parts = s->cg % PAIR == 0 ? 1 : s->joint; // groups of incomplete units come one by one
  int64_t hi = p->top;
  for (int64_t j = 0; j < rows; j++, hi += a->stride_h, dst += s->pitch) {
    if (hi < 0 || hi >= a->H || p->wide == 0) {
      for (int64_t u = 0; u < all; u++) clear(dst + u * ld, s->pitch + p->left + VL);
      continue;
    }
    for (int64_t u = 0; j == 0 && u < all; u++) clear(dst + u * ld, p->left + VL);
    for (int64_t i = 0; i < parts; i++) {
      const int64_t at = ((img * a->H + hi) * a->W + p->first) * a->C + (g + i) * s->cg;
      turn_columns((const xt *)a->x + at, s->joint / parts * s->cg, p->wide, step, size - at, dst + i * s->units * ld + p->left, ld);
    }
    for (int64_t u = 0; u < all; u++) clear(dst + u * ld + p->left + p->wide, between);
  }
}

// The rows that output rows ho .. ho+n-1 of image img see, of the channels of groups g .. g+joint-1.
static void copy_window(const shape *s, int64_t img, int64_t g, int64_t ho, int64_t n, me *window) {
  const ridge_conv_args *a = s->a;
  const int64_t phases = s->phases_h * s->phases_w, rows = rows_for(a, n);
  for (int64_t u = 0; u < (a->layout == 0 ? s->units : 1); u++)
    for (int64_t i = 0; i < phases; i++, window += s->plane) {
      const part_of_x p = part_of(s, ho, i / s->phases_w, i % s->phases_w);
      if (a->layout == 0 && s->phases_w == 2) {
        const part_of_x next = part_of(s, ho, i / 2, 1);
        const int64_t odd = a->pad_w % 2, from = (img * a->C + g * s->cg + u * PAIR) * a->H * a->W; // of the first phase's columns
        copy_phases(s, odd ? &next : &p, odd ? &p : &next, from, least(s->cg - u * PAIR, PAIR), rows, window + odd * s->plane, window + !odd * s->plane);
        i++, window += s->plane;
        continue;
      }
      if (a->layout == 1) turn_phase(s, &p, img, g, rows, window, phases * s->plane);
      else copy_phase(s, &p, (img * a->C + g * s->cg + u * PAIR) * a->H * a->W, least(s->cg - u * PAIR, PAIR), rows, window);
    }
}

#if !defined(CONV_FP32)
// This thread's share of the filters as elements that are multiplied, in the order in which they lie: what sums start at [K], then [K][red].
RIDGE_VT static void copy_filters(const shape *s, me *to, int tid, int nthreads) {
  const ridge_conv_args *a = s->a;
  const int64_t taps = a->R * a->S, chan = a->layout == 0 ? taps : 1, tap = a->layout == 0 ? 1 : s->units;
  int64_t from, end;
  ridge_share(a->K, 1, tid, nthreads, &from, &end);
  for (int64_t k = from; k < end; k++) {
    const xt *w = (const xt *)a->w + k * s->cg * taps;
    me *out = to + a->K + k * s->red;
    me start = 0;
#if defined(CONV_INT8)
    for (int64_t u = 0; u < s->units; u++)
      for (int64_t t = 0; t < taps; t++) {
        uint32_t unit = 0;
        for (int64_t c = u * PAIR; c < least(s->cg, u * PAIR + PAIR); c++) {
          const int32_t v = w[c * s->st.w_chan + t * s->st.w_tap];
          unit |= ((uint32_t)v & (PAIR == 4 ? 0xff : 0xffff)) << (c - u * PAIR) * (32 / PAIR);
          if (PAIR == 4) start -= 128 * v;
        }
        out[u * chan + t * tap] = (int32_t)unit;
      }
#else
    (void)chan, (void)tap;
    for (int64_t i = 0; i < s->red; i++) out[i] = widen(w[i]);
#endif
    to[k] = start;
  }
}
#endif

#endif
