// What the convolution on AMX tiles copies: filters to panels, the pixels that a block sees to a window or to dense rows.
#ifndef RIDGE_CONV_AMX_PACK_H
#define RIDGE_CONV_AMX_PACK_H

#include "conv_amx_nchw.h"

// Where in a filter step i lies and how many of its elements there are. Windows: all taps of a unit of channels before the next unit, so that a
// tile's pixels, which neighbouring taps share, are still in L1.
RIDGE_INLINE int64_t step_at(const plan *p, int64_t i, int64_t *n) {
  if (p->rowwise) {
    *n = p->a->S * p->cg;
    return i * *n;
  }
  if (p->mode != WINDOW) {
    const int64_t all = p->mode == DENSE ? p->taps * p->cg : p->cg; // GATHER, DIRECT: one tap
    *n = least(UNIT, all - i * UNIT);
    return i * UNIT;
  }
  const int64_t tap = i % p->taps, e = i / p->taps * UNIT;
  *n = least(UNIT, p->cg - e);
  return tap * p->cg + e;
}

// 16 rows of 16 units of 32 bits turned: column c of the source becomes row c.
RIDGE_INLINE RIDGE_VT void turn_16(char *dst, const char *src, int64_t pitch) {
  ridge_vi r[16];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < 16; i++) r[i] = *(const line_any *)(src + i * pitch);
  ridge_transpose(r);
  RIDGE_UNROLL_ALL
  for (int c = 0; c < 16; c++) *(line_any *)(dst + 64 * c) = r[c];
}

// The same of 16 filters from k on (their half of the panel is at dst) where a channel's taps lie together: unit by unit of channels.
RIDGE_VT static void pack_taps(const plan *p, int64_t g, int64_t k, char *dst) {
  const int64_t len = p->taps * p->cg, size = sizeof(xt), filters = least(16, p->kg - k);
  split s;
  split_of(&s, p->taps);
  char rows[MOST_TAPS][16 * 64] __attribute__((aligned(64)));
  for (int64_t u = 0; u < p->units; u++) {
    const int64_t n = least(UNIT, p->cg - u * UNIT);
    if (n < UNIT || (u == 0 && filters < 16)) memset(rows, 0, (size_t)p->taps * sizeof rows[0]);
    for (int64_t l = 0; l < filters; l++) {
      const xt *src = (const xt *)p->a->w + (g * p->kg + k + l) * len + u * UNIT * p->taps;
      char *to = rows[0] + 64 * l;
      int64_t c = 0;
      for (; c + SPLIT <= n; c += SPLIT) {
        if (p->taps == 9) split_nine(&s, src + c * p->taps, to + c * size, sizeof rows[0]);
        else split_some(&s, src + c * p->taps, to + c * size, sizeof rows[0]);
      }
      for (; c < n; c++)
        for (int64_t t = 0; t < p->taps; t++) ((xt *)rows[t])[l * UNIT + c] = src[c * p->taps + t];
    }
    for (int64_t t = 0; t < p->taps; t++, dst += STEP) turn_16(dst, rows[t], 64);
  }
}

// Panel i of group g to dst, zeros beyond the filters and their elements.
RIDGE_VT static void pack_panel(const plan *p, int64_t g, int64_t i, char *dst) {
  const int64_t len = p->taps * p->cg, size = sizeof(xt);
  if (is_nchw(p->a) && p->taps > 1 && p->taps <= MOST_TAPS) {
    for (int64_t h = 0; h < 2; h++)
      if (i * NR + 16 * h < p->kg) pack_taps(p, g, i * NR + 16 * h, dst + h * STEP / 2);
      else
        for (int64_t s = 0; s < p->steps; s++) memset(dst + s * STEP + h * STEP / 2, 0, STEP / 2);
    return;
  }
  const int apart = is_nchw(p->a) && p->taps > 1; // the channels of a tap lie taps elements apart
  for (int64_t s = 0; s < p->steps; s++) {
    int64_t n;
    const int64_t from = step_at(p, s, &n);
    for (int64_t k = i * NR; k < i * NR + NR; k += 16, dst += STEP / 2) {
      const char *w = (const char *)p->a->w + ((g * p->kg + k) * len + from) * size;
      if (n == UNIT && k + 16 <= p->kg && !apart) {
        turn_16(dst, w, len * size);
        continue;
      }
      char rows[16 * 64];
      memset(rows, 0, sizeof rows);
      for (int64_t l = 0; l < 16 && k + l < p->kg; l++) {
        if (apart) {
          const xt *filter = (const xt *)p->a->w + (g * p->kg + k + l) * len + s / p->taps * UNIT * p->taps + s % p->taps;
          xt *const row = (xt *)(rows + 64 * l);
          for (int64_t c = 0; c < n; c++) row[c] = filter[c * p->taps];
        } else {
          memcpy(rows + 64 * l, w + l * len * size, (size_t)(n * size));
        }
      }
      turn_16(dst, rows, 64);
    }
  }
}

// Columns from .. from+cols-1 of input row hi of image n, each unit of channels to its plane; zeros where there is no image.
RIDGE_VT static void copy_row(const plan *p, int64_t g, int64_t n, int64_t hi, int64_t from, int64_t cols, char *dst) {
  const ridge_conv_args *a = p->a;
  const int64_t size = sizeof(xt), bytes = p->cg * size, pixel = a->C * size;
  int64_t c0 = from < 0 ? least(-from, cols) : 0, c1 = least(a->W - from, cols);
  if (hi < 0 || hi >= a->H || c1 <= c0) c0 = c1 = cols;
  if (is_nchw(a)) {
    for (int64_t u = 0; u < p->units; u++) {
      memset(dst + u * p->plane, 0, (size_t)(c0 * 64));
      memset(dst + u * p->plane + c1 * 64, 0, (size_t)((cols - c1) * 64));
    }
    if (c1 > c0) turn_columns(p, g, n, hi, from, c0, c1, dst);
    return;
  }
  const char *src = (const char *)a->x + (((n * a->H + hi) * a->W + from + c0) * a->C + g * p->cg) * size;
  for (int64_t u = 0; u < p->units; u++, dst += p->plane) {
    memset(dst, 0, (size_t)(c0 * 64));
    memset(dst + c1 * 64, 0, (size_t)((cols - c1) * 64));
    const int64_t rest = bytes - u * 64;
    const char *at = src + u * 64;
    char *to = dst + c0 * 64, *const end = dst + c1 * 64;
    if (rest >= 64) {
      for (; to < end; to += 64, at += pixel) *(line_any *)to = *(const line_any *)at;
    } else {
      for (; to < end; to += 64, at += pixel) memcpy(to, at, (size_t)rest), memset(to + rest, 0, (size_t)(64 - rest));
    }
  }
}

// Pixels q .. q+n-1 of a kernel of one tap as rows of a tile, 64 bytes of a row for each step.
RIDGE_VT static void gather(const plan *p, int64_t g, int64_t q, int64_t n, char *dst) {
  const ridge_conv_args *a = p->a;
  const int64_t size = sizeof(xt), bytes = p->cg * size;
  int64_t img = q / (a->Ho * a->Wo), ho = q / a->Wo % a->Ho, wo = q % a->Wo;
  for (int64_t r = 0; r < n; r++, dst += 64) {
    const int64_t hi = ho * a->stride_h - a->pad_h, wi = wo * a->stride_w - a->pad_w;
    const char *src = (const char *)a->x + (((img * a->H + hi) * a->W + wi) * a->C + g * p->cg) * size;
    char *to = dst;
    if (hi < 0 || hi >= a->H || wi < 0 || wi >= a->W) {
      for (int64_t i = 0; i < p->steps; i++, to += p->pitch) memset(to, 0, 64);
    } else {
      int64_t at = 0;
      for (; at + 64 <= bytes; at += 64, to += p->pitch) *(line_any *)to = *(const line_any *)(src + at);
      if (at < bytes) memcpy(to, src + at, (size_t)(bytes - at)), memset(to + bytes - at, 0, (size_t)(64 - bytes + at));
    }
    if (++wo == a->Wo) {
      wo = 0;
      if (++ho == a->Ho) ho = 0, img++;
    }
  }
}

// Bytes from .. to-1 at p, zeros before and behind them, 64 in all.
RIDGE_INLINE RIDGE_VT void copy_part(char *dst, const char *p, int64_t from, int64_t to) {
#if defined(RIDGE_MODEL)
  memset(dst, 0, 64);
  if (to > from) memcpy(dst + from, p + from, (size_t)(to - from));
#else
  const uint64_t below = to < 64 ? ((uint64_t)1 << to) - 1 : ~(uint64_t)0;
  _mm512_storeu_si512(dst, _mm512_maskz_loadu_epi8(to > from ? below >> from << from : 0, p));
#endif
}

// What output columns see of input row hi of image n: a row of taps each, zeros behind it and where there is no image.
RIDGE_VT static void copy_taps(const plan *p, int64_t g, int64_t n, int64_t hi, char *dst) {
  const ridge_conv_args *a = p->a;
  const int64_t size = sizeof(xt), bytes = p->cg * size, pixel = a->C * size, S = a->S, W = a->W, step = a->stride_w;
  char *const end = dst + a->Wo * 64;
  if (hi < 0 || hi >= a->H) {
    memset(dst, 0, (size_t)(end - dst));
    return;
  }
  const char *row = (const char *)a->x + (n * a->H + hi) * W * pixel + g * bytes - a->pad_w * pixel;
  for (int64_t left = -a->pad_w; dst < end; dst += 64, left += step, row += step * pixel) {
    if (a->groups == 1 && left >= 0 && left + S <= W) {
      copy_part(dst, row, 0, S * bytes);
      continue;
    }
    const int64_t s0 = least(left < 0 ? -left : 0, S), s1 = left + S > W ? W - left : S;
    if (a->groups == 1) {
      copy_part(dst, row, s0 * bytes, s1 * bytes);
      continue;
    }
    memset(dst, 0, 64);
    for (int64_t s = s0; s < s1; s++) memcpy(dst + s * bytes, row + s * pixel, (size_t)bytes);
  }
}

// Pixels q0 .. q1-1, each a row of all its taps. Up to 64 bytes behind them are written.
// A kernel's row of taps, where it is at most 64 bytes of the image, is one load and one store, whose zeros the next one overwrites.
RIDGE_VT static void copy_dense(const plan *p, int64_t g, int64_t q0, int64_t q1, char *dst) {
  const ridge_conv_args *a = p->a;
  const int64_t size = sizeof(xt), bytes = p->cg * size, pixel = a->C * size, run = a->S * bytes, px = p->px;
  const int64_t whole = a->groups == 1 && a->dil_w == 1 && run <= 64, R = a->R, S = a->S, H = a->H, W = a->W, down = a->dil_h * W * pixel;
  const char *x = (const char *)a->x + g * bytes;
  int64_t n = q0 / (a->Ho * a->Wo), ho = q0 / a->Wo % a->Ho, wo = q0 % a->Wo;
  for (int64_t q = q0; q < q1; q++, dst += px) {
    const int64_t left = wo * a->stride_w - a->pad_w, top = ho * a->stride_h - a->pad_h;
    const char *row = x + ((n * H + top) * W + left) * pixel;
    char *to = dst;
    memset(dst + px - 64, 0, 64);
    if (whole && left >= 0 && left + S <= W && top >= 0 && top + p->span_h <= H) {
      for (int64_t r = 0; r < R; r++, to += run, row += down) copy_part(to, row, 0, run);
    } else if (whole) {
      const int64_t s0 = left < 0 ? least(-left, S) : 0, s1 = left + S > W ? W - left : S;
      for (int64_t r = 0, hi = top; r < R; r++, hi += a->dil_h, to += run, row += down)
        copy_part(to, row, s0 * bytes, hi >= 0 && hi < H ? s1 * bytes : 0);
    } else {
      for (int64_t r = 0; r < R; r++, row += down) {
        const int64_t hi = top + r * a->dil_h;
        for (int64_t s = 0; s < S; s++, to += bytes) {
          const int64_t wi = left + s * a->dil_w;
          if (hi < 0 || hi >= H || wi < 0 || wi >= W) memset(to, 0, (size_t)bytes);
          else memcpy(to, row + s * a->dil_w * pixel, (size_t)bytes);
        }
      }
    }
    if (++wo == a->Wo) {
      wo = 0;
      if (++ho == a->Ho) ho = 0, n++;
    }
  }
}

#endif
