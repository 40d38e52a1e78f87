// Depthwise convolution in NCHW: blocks of neighbouring output rows, vectors of output columns.
//
// 3x3, step 1, fp32: x is read in place. Else the rows of x that a block of B output rows sees lie in a ring, each copied once, widened and
// with its padding; where the step is above 1, columns that the same tap reads lie together (a phase for each remainder), so that every tap
// of every step is one load with no test. A loaded vector serves all rows of the block that see it.
//
// 3x3, step 1, B = 4: 18 loads and 36 FMA for 4 vectors of outputs: 18 cycles of two FMA, beside 13 of two loads where half of them
// cross lines; 9 weights, 4 sums and x are 14 registers. 5x5: 2 columns of vectors, so that a weight fetched from memory serves
// two: 200 FMA, 80 loads of x and 100 of weights. Other kernels: each tap of each row a load.
// Outputs of a last vector that are too few are computed with their neighbours again; rows shorter than a vector are stored whole where the
// band's next rows overwrite what is too much.
#ifndef RIDGE_CONV_DEPTHWISE_NCHW_H
#define RIDGE_CONV_DEPTHWISE_NCHW_H

RIDGE_INLINE int64_t apart_elements(int64_t n) { return ridge_apart(n * (int64_t)sizeof(me)) / (int64_t)sizeof(me); }

enum { DN_ROWS = 4 }; // output rows of a block at most

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

// A thread's scratch in elements: the ring and a row of zeros, the filter, places of taps and of rows.
RIDGE_INLINE int64_t nchw_elements(const ridge_conv_args *a) {
  int64_t indices = (a->S + rows_seen(a, DN_ROWS)) * (int64_t)(sizeof(int64_t) / sizeof(me));
  return apart_elements((ring_rows(a) + 1) * phase_length(a) * a->stride_w + ceil_div(a->R * a->S, 16) * 16 + indices + 16);
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
  ridge_vi mask[9];   // of columns at the edges (edge_masks)
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

// How sums end; fields of the arguments in registers, for stores might change them.
typedef struct ending {
  const ridge_conv_args *a;
  int64_t k;
  int plain, bias; // nothing to do; a bias and a ReLU at most
  mv b;
  int relu;
} ending;

RIDGE_INLINE RIDGE_VT ending ending_of(const ridge_conv_args *a, int64_t k) {
  ending e = {a, k, 0, 0, {0}, 0};
#if !defined(CONV_INT8)
  const int simple = !a->residual && (a->act == RIDGE_ACT_NONE || a->act == RIDGE_ACT_RELU);
  e.plain = simple && !a->bias && a->act == RIDGE_ACT_NONE;
  e.bias = simple && a->bias;
  if (a->bias) e.b = load_one((const xt *)a->bias + k) - e.b;
  e.relu = a->act == RIDGE_ACT_RELU;
#endif
  return e;
}

// A vector at i of y, which lies at `at` of the output.
RIDGE_INLINE RIDGE_VT void end_vector(const ending *e, mv v, yt *y, int64_t i, int64_t at) {
#if !defined(CONV_INT8)
  if (e->plain) {
    store_out(y + i, v);
    return;
  }
  if (e->bias) {
    v += e->b;
    if (e->relu) v = activate(v, RIDGE_ACT_RELU);
    store_out(y + i, v);
    return;
  }
#endif
  finish_pixels(e->a, v, e->k, at + i);
}

// Sums of B rows of U vectors of columns from o. R = 0: a kernel of any size, else R x R without dilation.
RIDGE_INLINE RIDGE_VT void column_sums(const ridge_conv_args *a, const plane *p, const me *const *rows, const mv *f, int64_t o, const int B, const int U,
                                       const int R, const int step, mv acc[DN_ROWS][2]) {
  const me *w = p->w;
  DW_UNROLL
  for (int b = 0; b < B; b++) {
    DW_UNROLL
    for (int u = 0; u < U; u++) acc[b][u] = (mv){0};
  }
  if (R == 0) {
    for (int64_t r = 0; r < a->R; r++) {
      for (int64_t s = 0; s < a->S; s++, w++) {
        const int64_t from = p->tap[s] + o;
        DW_UNROLL
        for (int b = 0; b < B; b++) {
          const me *x = rows[b * a->stride_h + r * a->dil_h] + from;
          DW_UNROLL
          for (int u = 0; u < U; u++) acc[b][u] += *(const mv_any *)(x + u * VL) * *w;
        }
      }
    }
    return;
  }
  const int64_t odd = p->length / 2;
  DW_UNROLL
  for (int i = 0; i < (B - 1) * step + R; i++) {
    const me *row = rows[i] + o;
    DW_UNROLL
    for (int s = 0; s < R; s++) {
      const me *from = step == 1 ? row + s : row + s % 2 * odd + s / 2;
      mv x[2];
      DW_UNROLL
      for (int u = 0; u < U; u++) x[u] = *(const mv_any *)(from + u * VL);
      DW_UNROLL
      for (int b = 0; b < B; b++) {
        const int r = i - b * step;
        if (r < 0 || r >= R) continue;
        DW_UNROLL
        for (int u = 0; u < U; u++) acc[b][u] += R == 3 ? x[u] * f[r * R + s] : x[u] * w[r * R + s];
      }
    }
  }
}

// B rows of outputs, the first at `at` of y; after: rows of the band that come later.
RIDGE_INLINE RIDGE_VT void row_block(const ridge_conv_args *a, const plane *p, const ending *of, int64_t at, int64_t after, const int B, const int U, const int R,
                                     const int step) {
  const int64_t Wo = a->Wo;
  const ending end = *of, *e = &end; // copies of what stores cannot change, to be kept in registers
  const me *local[2 * DN_ROWS + 3], *const *rows = R ? local : p->rows;
  mv acc[DN_ROWS][2], f[9];
  yt *y = (yt *)a->y + at;
  for (int i = 0; R && i < (B - 1) * step + R; i++) local[i] = p->rows[i];
  if (R == 3) {
    DW_UNROLL
    for (int i = 0; i < 9; i++) f[i] = p->w[i] - (mv){0};
  }
  int64_t o = 0;
  for (; o + U * VL <= Wo; o += U * VL) {
    column_sums(a, p, rows, f, o, B, U, R, step, acc);
    DW_UNROLL
    for (int b = 0; b < B; b++) {
      DW_UNROLL
      for (int u = 0; u < U; u++) end_vector(e, acc[b][u], y, b * Wo + o + u * VL, at);
    }
  }
  if (U > 1 && o + VL <= Wo) {
    column_sums(a, p, rows, f, o, B, 1, R, step, acc);
    DW_UNROLL
    for (int b = 0; b < B; b++) end_vector(e, acc[b][0], y, b * Wo + o, at);
    o += VL;
  }
  if (o == Wo) return;
  if (o > 0) o = Wo - VL; // the last vector again, as far back as it must begin
  column_sums(a, p, rows, f, o, B, 1, R, step, acc);
  if (o > 0) {
    DW_UNROLL
    for (int b = 0; b < B; b++) end_vector(e, acc[b][0], y, b * Wo + o, at);
    return;
  }
  DW_UNROLL
  for (int b = 0; b < B; b++) {
    if ((B - b + after) * Wo >= VL && (e->plain || e->bias)) {
      end_vector(e, acc[b][0], y, b * Wo, at);
      continue;
    }
    me sums[VL];
    *(mv_any *)sums = acc[b][0];
    for (int64_t i = 0; i < Wo; i++) finish_one(a, sums[i], e->k, at + b * Wo + i);
  }
}

// The kernels that have code of their own, and any other.
RIDGE_INLINE RIDGE_VT void any_block(const ridge_conv_args *a, const plane *p, const ending *e, int64_t at, int64_t after, const int B) {
  const int square = a->R == a->S && a->dil_h == 1 && a->dil_w == 1 && a->stride_h == a->stride_w;
  if (square && a->R == 3 && a->stride_h == 1) row_block(a, p, e, at, after, B, 1, 3, 1);
  else if (square && a->R == 5 && a->stride_h == 1) row_block(a, p, e, at, after, B, 2, 5, 1);
  else if (square && a->R == 3 && a->stride_h == 2) row_block(a, p, e, at, after, B, 1, 3, 2);
  else if (square && a->R == 5 && a->stride_h == 2) row_block(a, p, e, at, after, B, 2, 5, 2);
  else row_block(a, p, e, at, after, B, 2, 0, 0);
}
__attribute__((noinline)) RIDGE_VT static void block_of_4(const ridge_conv_args *a, const plane *p, const ending *e, int64_t at, int64_t after) {
  any_block(a, p, e, at, after, 4);
}
__attribute__((noinline)) RIDGE_VT static void block_of_2(const ridge_conv_args *a, const plane *p, const ending *e, int64_t at, int64_t after) {
  any_block(a, p, e, at, after, 2);
}
__attribute__((noinline)) RIDGE_VT static void block_of_1(const ridge_conv_args *a, const plane *p, const ending *e, int64_t at, int64_t after) {
  any_block(a, p, e, at, after, 1);
}

#if defined(CONV_FP32)
// 3x3, step 1, in fp32 reads x where it lies: rows of a plane follow each other, so that a vector at an edge reads its neighbours' pixels in
// place of padding, which a mask takes away (one and for each row). Not in the first and last plane, where it would read past x.
enum { DN_EDGES = 3 }; // vectors of columns that see padding: the first, the last, and one before it

RIDGE_INLINE int reads_in_place(const ridge_conv_args *a) {
  return a->R == 3 && a->S == 3 && a->stride_h == 1 && a->stride_w == 1 && a->dil_h == 1 && a->dil_w == 1 && a->pad_w <= 2 && a->Wo >= VL;
}

// The columns that the taps of the vector at o see inside the image.
RIDGE_VT static void edge_masks(const ridge_conv_args *a, int64_t o, ridge_vi m[3]) {
  for (int s = 0; s < 3; s++)
    for (int l = 0; l < VL; l++) m[s][l] = o + s + l >= a->pad_w && o + s + l < a->pad_w + a->W ? -1 : 0;
}

// B rows of a vector of columns; rows[i] + o is its first tap in row i.
RIDGE_INLINE RIDGE_VT void sums_in_place(const float *const *rows, const mv *f, int64_t o, const ridge_vi *mask, const int B, mv acc[DN_ROWS]) {
  DW_UNROLL
  for (int b = 0; b < B; b++) acc[b] = (mv){0};
  DW_UNROLL
  for (int i = 0; i < B + 2; i++) {
    DW_UNROLL
    for (int s = 0; s < 3; s++) {
      mv x = *(const mv_any *)(rows[i] + o + s);
      if (mask) x = (mv)((ridge_vi)x & mask[s]);
      DW_UNROLL
      for (int b = 0; b < B; b++)
        if (i - b >= 0 && i - b < 3) acc[b] += x * f[(i - b) * 3 + s];
    }
  }
}

// B output rows from ho of the plane at x, the first at `at` of y.
RIDGE_INLINE RIDGE_VT void rows_in_place(const ridge_conv_args *a, const plane *p, const ending *e, const mv *f, int64_t ho, int64_t at, const int B) {
  const int64_t last = a->Wo - VL, inner = a->Wo - a->pad_w - VL, Wo = a->Wo;
  const ridge_vi *mask = p->mask;
  const float *rows[DN_ROWS + 2];
  yt *y = (yt *)a->y + at;
  DW_UNROLL
  for (int i = 0; i < B + 2; i++) {
    const int64_t row = ho + i - a->pad_h;
    rows[i] = (row >= 0 && row < a->H ? p->x + row * a->W : p->zeros + 2) - a->pad_w;
  }
  for (int64_t o = 0;; o = o + VL < last ? o + VL : last) {
    mv acc[DN_ROWS];
    if (o == 0 || o > inner) sums_in_place(rows, f, o, mask + (o == 0 ? 0 : o == last ? 3 : 6), B, acc);
    else sums_in_place(rows, f, o, NULL, B, acc);
    DW_UNROLL
    for (int b = 0; b < B; b++) end_vector(e, acc[b], y, b * Wo + o, at);
    if (o == last) break;
  }
}

__attribute__((noinline)) RIDGE_VT static void plane_in_place(const ridge_conv_args *a, const plane *p, int64_t n, int64_t k, int64_t h0, int64_t h1) {
  const ending e = ending_of(a, k);
  mv f[9];
  DW_UNROLL
  for (int i = 0; i < 9; i++) f[i] = ((const float *)a->w)[k * 9 + i] - (mv){0};
  const int64_t at = (n * a->K + k) * a->Ho * a->Wo;
  int64_t ho = h0;
  for (; ho + 4 <= h1; ho += 4) rows_in_place(a, p, &e, f, ho, at + ho * a->Wo, 4);
  if (ho + 2 <= h1) {
    rows_in_place(a, p, &e, f, ho, at + ho * a->Wo, 2);
    ho += 2;
  }
  if (ho < h1) rows_in_place(a, p, &e, f, ho, at + ho * a->Wo, 1);
}
#endif

// A thread's scratch before its first plane: padding and the places of taps do not change.
RIDGE_VT static plane plane_of(const ridge_conv_args *a, me *scratch) {
  const int64_t rows = ring_rows(a), phase = phase_length(a), length = phase * a->stride_w, taps = ceil_div(a->R * a->S, 16) * 16;
  me *w = scratch + (rows + 1) * length;
  int64_t *tap = (int64_t *)(w + taps);
  for (int64_t i = 0; i < (rows + 1) * length; i++) scratch[i] = 0;
  for (int64_t s = 0; s < a->S; s++) tap[s] = s * a->dil_w % a->stride_w * phase + s * a->dil_w / a->stride_w;
  const xt *x = a->x;
  plane p = {x, x + a->N * a->C * a->H * a->W, scratch, scratch + rows * length, w, tap, (const me **)(tap + a->S), length, {{0}}};
#if defined(CONV_FP32)
  if (reads_in_place(a)) {
    const int64_t last = a->Wo - VL;
    edge_masks(a, 0, p.mask);
    edge_masks(a, last, p.mask + 3);
    edge_masks(a, last / VL * VL, p.mask + 6);
  }
#endif
  return p;
}

RIDGE_INLINE int64_t wrap(int64_t row, int64_t rows) {
  while (row >= rows) row -= rows;
  return row;
}

// Output rows h0 .. h1-1 of plane (n, k).
RIDGE_VT static void plane_rows(const ridge_conv_args *a, plane *p, int64_t n, int64_t k, int64_t h0, int64_t h1) {
  const int64_t slots = ring_rows(a), taps = a->R * a->S, phase = p->length / a->stride_w, image = n * a->C + k / (a->K / a->C);
  p->x = (const xt *)a->x + image * a->H * a->W;
#if defined(CONV_FP32)
  if (reads_in_place(a) && image > 0 && image < a->N * a->C - 1) {
    plane_in_place(a, p, n, k, h0, h1);
    return;
  }
#endif
  const ending e = ending_of(a, k);
  me *w = (me *)p->w;
  for (int64_t i = 0; i < taps; i++) w[i] = load_one((const xt *)a->w + k * taps + i);
  const int64_t most = a->R == 3 && a->stride_h == 2 ? 2 : DN_ROWS; // nine rows there would not find registers for their addresses
  // Rows count from the padding's first that is seen here, row 0 lies in slot 0.
  const int64_t above = a->pad_h - h0 * a->stride_h, all = rows_seen(a, h1 - h0);
  int64_t next = 0, slot = 0, base = 0; // row to copy next and its slot; slot of the block's first row
  for (int64_t ho = h0; ho < h1;) {
    const int64_t left = h1 - ho, B = left >= most ? most : left >= 2 ? 2 : 1, first = (ho - h0) * a->stride_h, seen = rows_seen(a, B);
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
    if (B == 4) block_of_4(a, p, &e, at, left - 4);
    else if (B == 2) block_of_2(a, p, &e, at, left - 2);
    else block_of_1(a, p, &e, at, left - 1);
    ho += B;
    base = wrap(base + B * a->stride_h, slots);
  }
}

#endif
