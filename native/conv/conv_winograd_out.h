// Winograd's outputs: the transform of the products, and their end (conv_winograd_body.h).
#ifndef RIDGE_CONV_WINOGRAD_OUT_H
#define RIDGE_CONV_WINOGRAD_OUT_H

#include "conv_winograd_in.h"

// Where outputs of tiles that neighbour in a row lie.
typedef struct stretch {
  int64_t image, at, rows, cols, next; // image; place of the first pixel in it; rows and columns; the tile behind
} stretch;

// The tiles of first's row that are below end, LONG at most.
RIDGE_INLINE stretch stretch_of(const plan *p, int64_t first, int64_t end) {
  const ridge_conv_args *a = p->a;
  int64_t row = first / p->across, across = first % p->across, down = p->per / p->across;
  stretch s = {.image = row / down, .next = (row + 1) * p->across < end ? (row + 1) * p->across : end};
  if (s.next > first + LONG) s.next = first + LONG;
  int64_t ho = row % down * p->step, wo = across * p->step, n = (s.next - first) * p->step;
  s.at = ho * a->Wo + wo, s.rows = a->Ho - ho < p->step ? a->Ho - ho : p->step, s.cols = a->Wo - wo < n ? a->Wo - wo : n;
  return s;
}

// NCHW: from a row of a stretch's outputs to the next in scratch. A tile of three outputs writes four, so that the last one's row has a place more.
RIDGE_INLINE int64_t row_pitch(const stretch *s) { return WHOLE == 3 ? ceil_div(s->cols, 3) * 3 + 1 : s->cols; }

// Into L2: L1 cannot hold the outputs of a sub-block.
RIDGE_INLINE void fetch(const yt *from, int64_t n) {
  for (int64_t i = 0; i < n; i += 64 / (int64_t)sizeof(yt)) __builtin_prefetch(from + i, 0, 2);
  __builtin_prefetch(from + n - 1, 0, 2);
}

// Asks for the lines of array (y or the residual) in which the outputs of a stretch's part u lie, NR channels from k. NCHW: part u is channel k + u,
// NHWC: it is tile u.
RIDGE_INLINE void fetch_part(const plan *p, const yt *array, const stretch *s, int64_t u, int64_t k) {
  const ridge_conv_args *a = p->a;
  const int64_t P = a->Ho * a->Wo;
  if (a->layout == 1) {
    for (int64_t h = 0; h < s->rows; h++)
      for (int64_t w = u * p->step; w < s->cols && w < (u + 1) * p->step; w++)
        fetch(array + (s->image * P + s->at + h * a->Wo + w) * a->K + k, NR);
    return;
  }
  const yt *from = array + (s->image * a->K + k + u) * P + s->at;
  if (s->cols == a->Wo) fetch(from, s->rows * s->cols);
  else for (int64_t h = 0; h < s->rows; h++) fetch(from + h * a->Wo, s->cols);
}

// The first half of a tile's outputs, VL channels: t = A^T M, columns alone. off: where each position begins; NULL: m_pos elements after the one before.
RIDGE_INLINE RIDGE_VT void columns_out(const plan *p, const float *m, const int64_t *off, const int mh, const int mw, mv t[4][MOST]) {
  const int64_t points = off ? p->points : MOST;
  RIDGE_UNROLL_ALL
  for (int w = 0; w < span(side(mw)); w++) {
    mv d[MOST], y[4];
    RIDGE_UNROLL_ALL
    for (int h = 0; h < span(side(mh)); h++) d[h] = *(const mv_any *)(m + (off ? off[h * points + w] : (h * MOST + w) * p->m_pos));
    turn_out(mh, d, y);
    RIDGE_UNROLL_ALL
    for (int h = 0; h < side(mh); h++) t[h][w] = y[h];
  }
}

// NHWC: the outputs of a tile, from pixel q of y (and of the residual), NR channels from k. Tiles of 2 outputs may have one, a stem's any number: rows, cols.
RIDGE_INLINE RIDGE_VT void pixels_out(const plan *p, const float *m, const int64_t *off, const int mh, const int mw, int64_t q, int64_t rows, int64_t cols,
                                      int64_t k) {
  const ridge_conv_args *a = p->a;
#if !defined(CONV_STEM)
  if (mh > 2 || rows > 2) rows = side(mh);
  if (mw > 2 || cols > 2) cols = side(mw);
#endif
  for (int v = 0; v < RIDGE_NV; v++, m += VL, k += VL) {
    mv t[4][MOST];
    columns_out(p, m, off, mh, mw, t);
    for (int64_t h = 0; h < side(mh) && h < rows; h++) {
      mv y[4];
      turn_out(mw, t[h], y);
      for (int64_t w = 0; w < side(mw) && w < cols; w++) finish_channels(a, y[w], k, (q + h * a->Wo + w) * a->K + k);
    }
  }
}

// NCHW: a tile's outputs, VL channels, to rows of planes that lie ld apart; whole quads or halves, whatever they cover.
RIDGE_INLINE RIDGE_VT void planes_out(const plan *p, const float *m, const int64_t *off, const int mh, const int mw, float *plane, int64_t ld, int64_t pitch) {
  mv t[4][MOST];
  columns_out(p, m, off, mh, mw, t);
  RIDGE_UNROLL_ALL
  for (int h = 0; h < side(mh); h++, plane += pitch) {
    mv y[4], turned[4];
    turn_out(mw, t[h], y);
    RIDGE_UNROLL_ALL
    for (int w = side(mw); w < 4; w++) y[w] = (mv){0};
    CONV_TURN(turned, y[0], y[1], y[2], y[3]); // lane group g of turned[j]: channel 4g + j
    RIDGE_UNROLL_ALL
    for (int j = 0; j < 4; j++) {
      RIDGE_UNROLL_ALL
      for (int g = 0; g < VL / 4; g++) memcpy(plane + (4 * g + j) * ld, (const float *)&turned[j] + 4 * g, side(mw) == 2 ? sizeof(quad) / 2 : sizeof(quad));
    }
  }
}

#define OUTPUTS(mh, mw)                                                                                                                   \
  __attribute__((noinline)) RIDGE_VT static void pixels_##mh##mw(const plan *p, const float *m, const int64_t *off, int64_t q, int64_t rows, int64_t cols, int64_t k) { \
    pixels_out(p, m, off, mh, mw, q, rows, cols, k);                                                                                      \
  }                                                                                                                                       \
  __attribute__((noinline)) RIDGE_VT static void planes_##mh##mw(const plan *p, const float *m, const int64_t *off, float *plane, int64_t ld, int64_t pitch) { \
    planes_out(p, m, off, mh, mw, plane, ld, pitch);                                                                                      \
  }
FOR_EACH_SIZE(OUTPUTS)
typedef void (*pixels_fn)(const plan *, const float *, const int64_t *, int64_t, int64_t, int64_t, int64_t);
typedef void (*planes_fn)(const plan *, const float *, const int64_t *, float *, int64_t, int64_t);

// The end of VL outputs from element i on. bias, residual: there is one.
RIDGE_INLINE RIDGE_VT mv end_at(const float *from, int64_t i, const int bias, float b, const int residual, const yt *res, const int act) {
  mv v = *(const mv_any *)(from + i);
  if (bias) v += splat(b);
  if (residual) v += load_out(res + i);
  return act == RIDGE_ACT_NONE || act == RIDGE_ACT_RELU ? activate(v, act) : activate_slowly(v, act);
}

// n neighbours of a channel's plane: y = act(from + b + res).
RIDGE_INLINE RIDGE_VT void end_run(const float *from, int64_t n, const int bias, float b, const int residual, const yt *res, const int act, yt *y) {
  if (n < VL) {
    float lanes[VL] = {0};
    yt of_res[VL] = {0}, of_y[VL];
    memcpy(lanes, from, (size_t)n * sizeof(float));
    if (residual) memcpy(of_res, res, (size_t)n * sizeof(yt));
    store_out(of_y, end_at(lanes, 0, bias, b, residual, of_res, act));
    memcpy(y, of_y, (size_t)n * sizeof(yt));
    return;
  }
  mv last = end_at(from, n - VL, bias, b, residual, res, act); // before y is written, which res may be
  for (int64_t i = 0; i < n - VL; i += VL) store_out(y + i, end_at(from, i, bias, b, residual, res, act));
  store_out(y + n - VL, last);
}

// The planes of VL channels from k, for a stretch.
RIDGE_INLINE RIDGE_VT void end_planes(const plan *p, const stretch *s, const float *planes, int64_t ld, int64_t k, const int bias,
                                      const int residual, const int act) {
  const ridge_conv_args *a = p->a;
  const int64_t P = a->Ho * a->Wo, pitch = row_pitch(s), whole = s->cols == a->Wo && s->cols == pitch; // rows that follow each other are one
  const int64_t rows = whole ? 1 : s->rows, n = whole ? s->rows * s->cols : s->cols;
  for (int64_t c = 0; c < VL; c++) {
    const float b = bias ? one_out((const yt *)a->bias + k + c) : 0;
    const int64_t at = (s->image * a->K + k + c) * P + s->at;
    for (int64_t h = 0; h < rows; h++)
      end_run(planes + c * ld + h * pitch, n, bias, b, residual, residual ? (const yt *)a->residual + at + h * a->Wo : 0, act,
              (yt *)a->y + at + h * a->Wo);
  }
}

#define END_PLANES(name, bias, residual, act)                                                                                     \
  __attribute__((noinline)) RIDGE_VT static void end_##name(const plan *p, const stretch *s, const float *planes, int64_t ld, int64_t k) { \
    end_planes(p, s, planes, ld, k, bias, residual, act);                                                                         \
  }
END_PLANES(plain, 0, 0, RIDGE_ACT_NONE)
END_PLANES(bias, 1, 0, RIDGE_ACT_NONE)
END_PLANES(relu, 0, 0, RIDGE_ACT_RELU)
END_PLANES(bias_relu, 1, 0, RIDGE_ACT_RELU)
END_PLANES(residual, 0, 1, RIDGE_ACT_NONE)
END_PLANES(bias_residual, 1, 1, RIDGE_ACT_NONE)
END_PLANES(residual_relu, 0, 1, RIDGE_ACT_RELU)
END_PLANES(bias_residual_relu, 1, 1, RIDGE_ACT_RELU)
END_PLANES(slowly, p->a->bias != 0, p->a->residual != 0, p->a->act)

typedef void (*end_fn)(const plan *, const stretch *, const float *, int64_t, int64_t);
static end_fn end_for(const ridge_conv_args *a) {
  static const end_fn ends[2][2][2] = {{{end_plain, end_bias}, {end_residual, end_bias_residual}},
                                       {{end_relu, end_bias_relu}, {end_residual_relu, end_bias_residual_relu}}};
  if (a->act != RIDGE_ACT_NONE && a->act != RIDGE_ACT_RELU) return end_slowly;
  return ends[a->act == RIDGE_ACT_RELU][a->residual != 0][a->bias != 0];
}

// The tiles of a sub-block that have the positions of each class, in their order.
typedef struct members {
  int64_t n[4];
  uint8_t tile[4][TS], before[4][TS + 1]; // before: how many are below a tile
} members;

static members members_of(const plan *p, int64_t first, int64_t n) {
  const int64_t down = p->per / p->across;
  const int classes = p->even ? 1 : 4;
  members of = {0};
  int64_t row = first / p->across % down, col = first % p->across;
  for (int64_t i = 0; i < n; i++) {
    const int wanting = 2 * (row == down - 1 && p->last_h < p->step) + (col == p->across - 1 && p->last_w < p->step);
    for (int c = 0; c < classes; c++) {
      of.before[c][i] = (uint8_t)of.n[c];
      if (!(c & wanting)) of.tile[c][of.n[c]++] = (uint8_t)i;
    }
    if (++col == p->across) col = 0, row = row + 1 == down ? 0 : row + 1;
  }
  return of;
}

// Transforms M's rows of tiles i on to the outputs of a stretch's tiles, NR channels from k.
RIDGE_VT static void outputs(const plan *p, const members *of, const stretch *s, int64_t i, int64_t k, const float *M, float *planes) {
#define PIXELS_OF(mh, mw) pixels_##mh##mw
#define PLANES_OF(mh, mw) planes_##mh##mw
  static const pixels_fn pixels_of[3][3] = EACH_SIZE(PIXELS_OF);
  static const planes_fn planes_of[3][3] = EACH_SIZE(PLANES_OF);
  const ridge_conv_args *a = p->a;
  const int64_t tiles = ceil_div(s->cols, p->step), mh = s->rows < p->step ? last_of(s->rows, p->step) : p->step;
  const int64_t rest = s->cols % p->step, end = rest ? last_of(rest, p->step) : p->step; // of the last tile
  int64_t off[POS];
  for (int64_t pos = 0; pos < p->pos && !p->even; pos++) off[pos] = pos * p->m_pos + of->before[p->class_of[pos]][i] * NR;
  if (a->layout == 1) {
    const int64_t q = s->image * a->Ho * a->Wo + s->at;
    for (int64_t l = 0, w = 0; l < tiles; l++, w += p->step, M += NR) {
#if defined(CONV_STEM)
      if (s->rows < WHOLE || s->cols - w < WHOLE) pixels_33(p, M + i * NR, NULL, q + w, s->rows, s->cols - w, k);
      else
#endif
      if (p->even) pixels_out(p, M + i * NR, NULL, WHOLE, WHOLE, q + w, WHOLE, WHOLE, k);
      else FEW_OR(pixels_11, pixels_of[mh - 2][(l < tiles - 1 ? p->step : end) - 2])(p, M, off, q + w, s->rows, s->cols - w, k);
    }
    return;
  }
  const int64_t ld = ends_ld(s->cols), pitch = row_pitch(s);
  for (int v = 0; v < RIDGE_NV; v++, k += VL, M += VL) {
    // The last tile first, for it may reach into the next row; those of three outputs in order, for each reaches into the next.
    for (int64_t u = 0, l; u < tiles; u++) {
      l = WHOLE == 3 ? u : u == 0 ? tiles - 1 : u - 1;
      float *plane = planes + l * p->step;
      if (p->even) planes_out(p, M + (i + l) * NR, NULL, WHOLE, WHOLE, plane, ld, pitch);
      else FEW_OR(planes_11, planes_of[mh - 2][(l < tiles - 1 ? p->step : end) - 2])(p, M + l * NR, off, plane, ld, pitch);
    }
    end_for(a)(p, s, planes, ld, k);
  }
}

#endif
