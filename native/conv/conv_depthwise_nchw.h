// Depthwise convolution in NCHW of any size, step and dilation: blocks of neighbouring output rows, vectors of output columns.
//
// 3x3 and 5x5 without dilation, of steps 1 and 2, are read where they lie (conv_depthwise_in_place.h). Else the rows of x that a block of B output
// rows sees lie in a ring, each copied once, widened and with its padding; where the step is above 1, columns that the same tap reads lie
// together (a phase for each remainder), so that every tap of every step is one load with no test.
//
// Each tap of each row is a load; 2 vectors of columns, so that a weight fetched from memory serves two.
// Outputs of a last vector that are too few are computed with their neighbours again; rows shorter than a vector are stored whole where the
// thread's next rows overwrite what is too much.
#ifndef RIDGE_CONV_DEPTHWISE_NCHW_H
#define RIDGE_CONV_DEPTHWISE_NCHW_H

#include "conv_depthwise_end.h"
#include "conv_depthwise_in_place.h"

RIDGE_INLINE int64_t apart_elements(int64_t n) { return ridge_apart(n * (int64_t)sizeof(me)) / (int64_t)sizeof(me); }

// Rows of x that n output rows see.
RIDGE_INLINE int64_t rows_seen(const ridge_conv_args *a, int64_t n) { return (n - 1) * a->stride_h + (a->R - 1) * a->dil_h + 1; }

// Rows of the ring: a block's, and the next one's, so that no load waits for a store that has just been made.
RIDGE_INLINE int64_t ring_rows(const ridge_conv_args *a) { return rows_seen(a, DN_ROWS) + DN_ROWS * a->stride_h; }

// Elements of a phase: the furthest tap of the last vector of columns, and all of the image with a vector of what is beyond.
RIDGE_INLINE int64_t phase_length(const ridge_conv_args *a) {
  int64_t outs = a->Wo > 2 * VL ? a->Wo : 2 * VL;
  int64_t read = outs + (a->S - 1) * a->dil_w / a->stride_w + 1, hold = ceil_div(a->pad_w + a->W, a->stride_w) + VL;
  return ceil_div(read > hold ? read : hold, 16) * 16;
}

// A thread's scratch in elements: the ring and a row of zeros, the filter, sums of a block, places of taps and of rows.
RIDGE_INLINE int64_t nchw_elements(const ridge_conv_args *a) {
  if (reads_in_place(a)) return apart_elements(in_place_elements(a));
  int64_t indices = (a->S + rows_seen(a, DN_ROWS)) * (int64_t)(sizeof(int64_t) / sizeof(me));
  return apart_elements((ring_rows(a) + 1) * phase_length(a) * a->stride_w + ceil_div(a->R * a->S, 16) * 16 + DN_ROWS * phase_length(a) + indices + 16);
}

// What the rows of one plane share.
typedef struct plane {
  const xt *x, *end;  // its pixels; the end of all
  me *ring;           // ring_rows rows
  const me *zeros;    // a row outside the image
  const me *w;        // its filter
  const int64_t *tap; // where tap s of column 0 lies in a row
  const me **rows;    // the rows of x of a block
  int64_t length;     // of a row, all phases
  me *kept;           // DN_ROWS rows of sums that end later
  int64_t kept_pitch;
} plane;

// n elements from row, where they end before `end`; what is beyond them is 0.
RIDGE_INLINE RIDGE_VT ridge_vi load_some(const xt *row, int64_t n, const xt *end) {
  if (n >= VL) return (ridge_vi)load_vector(row);
  me all[VL] = {0};
  if (end - row < VL) {
    for (int64_t i = 0; i < n; i++) all[i] = load_one(row + i);
    return *(const ridge_vi_any *)all;
  }
  ridge_vi lanes = {0};
  for (int i = 0; i < VL; i++) lanes[i] = i;
  return (ridge_vi)load_vector(row) & (lanes < (int)(n < 0 ? 0 : n));
}

// 2*VL columns from j of the padded row to the two phases of step 2.
RIDGE_INLINE RIDGE_VT void store_phases(me *out, int64_t phase, int64_t j, ridge_vi l, ridge_vi h) {
  *(mv_any *)(out + (j & 1) * phase + j / 2) = (mv)even_lanes(l, h);
  *(mv_any *)(out + (~j & 1) * phase + (j + 1) / 2) = (mv)odd_lanes(l, h);
}

// Copies a row of the image, widened, between its padding, which is there already. The last vector lies as far back as it must begin.
RIDGE_VT static void copy_row(const ridge_conv_args *a, const xt *row, const xt *end, me *out, int64_t phase) {
  const int64_t W = a->W, step = a->stride_w, pad = a->pad_w, last = W - step * VL;
  if (step > 2) {
    for (int64_t i = 0, j = pad; i < W; i++, j++) out[j % step * phase + j / step] = load_one(row + i);
  } else if (step == 1) {
    for (int64_t i = 0; i < last; i += VL) *(mv_any *)(out + pad + i) = load_vector(row + i);
    if (last >= 0) *(mv_any *)(out + pad + last) = load_vector(row + last);
    else *(mv_any *)(out + pad) = (mv)load_some(row, W, end);
  } else if (last >= 0) {
    for (int64_t i = 0; i < last; i += 2 * VL) store_phases(out, phase, pad + i, (ridge_vi)load_vector(row + i), (ridge_vi)load_vector(row + i + VL));
    store_phases(out, phase, pad + last, (ridge_vi)load_vector(row + last), (ridge_vi)load_vector(row + last + VL));
  } else {
    store_phases(out, phase, pad, load_some(row, W, end), W > VL ? load_some(row + VL, W - VL, end) : (ridge_vi){0});
  }
}

// B rows of U vectors of columns from o, where y begins; they end there, or their sums are kept.
RIDGE_INLINE RIDGE_VT void columns_of_rows(const ridge_conv_args *a, const plane *p, const ending *of, int64_t o, char *y, const yt *res, me *kept, const int B,
                                           const int U) {
  const ending end = *of;
  const me *w = p->w;
  mv acc[DN_ROWS][2];
  DW_UNROLL
  for (int b = 0; b < B; b++) {
    DW_UNROLL
    for (int u = 0; u < U; u++) acc[b][u] = (mv){0};
  }
  for (int64_t r = 0; r < a->R; r++) {
    for (int64_t s = 0; s < a->S; s++, w++) {
      const int64_t from = p->tap[s] + o;
      DW_UNROLL
      for (int b = 0; b < B; b++) {
        const me *x = p->rows[b * a->stride_h + r * a->dil_h] + from;
        DW_UNROLL
        for (int u = 0; u < U; u++) acc[b][u] += *(const mv_any *)(x + u * VL) * *w;
      }
    }
  }
  DW_UNROLL
  for (int u = 0; u < U; u++) {
    mv v[DN_ROWS][2];
    DW_UNROLL
    for (int b = 0; b < B; b++) {
      v[b][0] = acc[b][u];
      if (kept) *(mv_any *)(kept + b * p->kept_pitch + u * VL) = acc[b][u];
    }
    if (!kept) end_group(&end, v, y + u * VL * end.size, res ? res + u * VL : NULL, a->Wo, B, 1, 0);
  }
}

// B rows of outputs, the first at `at` of y.
RIDGE_INLINE RIDGE_VT void row_block(const ridge_conv_args *a, const plane *p, const ending *e, int64_t at, const int B) {
  const int64_t Wo = a->Wo, last = Wo > VL ? Wo - VL : 0;
  const int keep = e->slow || at + (B - 1) * Wo + last + VL > e->limit;
  char *y = (char *)a->y + at * e->size;
  const yt *res = a->residual ? (const yt *)a->residual + at : NULL;
  int64_t o = 0, group = 0;
  for (; o + 2 * VL <= Wo; o += 2 * VL, group += 2 * VL)
    columns_of_rows(a, p, e, o, y + o * e->size, res ? res + o : NULL, keep ? p->kept + group : NULL, B, 2);
  for (; o < Wo; o += VL, group += VL) {
    if (o > last) o = last; // the last vector again, as far back as it must begin
    columns_of_rows(a, p, e, o, y + o * e->size, res ? res + o : NULL, keep ? p->kept + group : NULL, B, 1);
  }
  if (keep) end_kept_1(e, p->kept, p->kept_pitch, at, B);
}
__attribute__((noinline)) RIDGE_VT static void block_of_4(const ridge_conv_args *a, const plane *p, const ending *e, int64_t at) { row_block(a, p, e, at, 4); }
__attribute__((noinline)) RIDGE_VT static void block_of_2(const ridge_conv_args *a, const plane *p, const ending *e, int64_t at) { row_block(a, p, e, at, 2); }
__attribute__((noinline)) RIDGE_VT static void block_of_1(const ridge_conv_args *a, const plane *p, const ending *e, int64_t at) { row_block(a, p, e, at, 1); }

// A thread's scratch before its first plane: padding and the places of taps do not change.
RIDGE_VT static plane plane_of(const ridge_conv_args *a, me *scratch) {
  const int64_t rows = ring_rows(a), phase = phase_length(a), length = phase * a->stride_w, taps = ceil_div(a->R * a->S, 16) * 16;
  me *w = scratch + (rows + 1) * length;
  me *kept = w + taps;
  int64_t *tap = (int64_t *)(kept + DN_ROWS * phase);
  for (int64_t i = 0; i < (rows + 1) * length; i++) scratch[i] = 0;
  for (int64_t s = 0; s < a->S; s++) tap[s] = s * a->dil_w % a->stride_w * phase + s * a->dil_w / a->stride_w;
  const xt *x = a->x;
  return (plane){x, x + a->N * a->C * a->H * a->W, scratch, scratch + rows * length, w, tap, (const me **)(tap + a->S), length, kept, phase};
}

RIDGE_INLINE int64_t wrap(int64_t row, int64_t rows) {
  while (row >= rows) row -= rows;
  return row;
}

// Output rows h0 .. h1-1 of plane (n, k).
RIDGE_VT static void plane_rows(const ridge_conv_args *a, plane *p, int64_t n, int64_t k, int64_t h0, int64_t h1, int64_t limit) {
  const int64_t slots = ring_rows(a), taps = a->R * a->S, phase = p->length / a->stride_w, image = n * a->C + k / (a->K / a->C);
  p->x = (const xt *)a->x + image * a->H * a->W;
  const ending e = ending_of(a, k, limit);
  me *w = (me *)p->w;
  for (int64_t i = 0; i < taps; i++) w[i] = load_one((const xt *)a->w + k * taps + i);
  // Rows count from the padding's first that is seen here, row 0 lies in slot 0.
  const int64_t above = a->pad_h - h0 * a->stride_h, all = rows_seen(a, h1 - h0);
  int64_t next = 0, slot = 0, base = 0; // row to copy next and its slot; slot of the block's first row
  for (int64_t ho = h0; ho < h1;) {
    const int64_t left = h1 - ho, B = left >= DN_ROWS ? DN_ROWS : left >= 2 ? 2 : 1, first = (ho - h0) * a->stride_h, seen = rows_seen(a, B);
    const int64_t ahead = first + seen + B * a->stride_h, until = ahead < all ? ahead : all;
    for (; next < until; next++, slot = slot + 1 == slots ? 0 : slot + 1) {
      const int64_t row = next - above;
      if (row >= 0 && row < a->H) copy_row(a, p->x + row * a->W, p->end, p->ring + slot * p->length, phase);
    }
    for (int64_t i = 0, at = base; i < seen; i++, at = at + 1 == slots ? 0 : at + 1) {
      const int64_t row = first + i - above;
      p->rows[i] = row >= 0 && row < a->H ? p->ring + at * p->length : p->zeros;
    }
    const int64_t at = ((n * a->K + k) * a->Ho + ho) * a->Wo;
    if (B == 4) block_of_4(a, p, &e, at);
    else if (B == 2) block_of_2(a, p, &e, at);
    else block_of_1(a, p, &e, at);
    ho += B;
    base = wrap(base + B * a->stride_h, slots);
  }
}

#endif
