// A stem's inputs and filters, phase by phase (conv_winograd_stem.h). Phases of a row of V and of filters: [row of the pair][column of the pair][C].
#ifndef RIDGE_CONV_WINOGRAD_STEM_IN_H
#define RIDGE_CONV_WINOGRAD_STEM_IN_H

// Copies n pairs of pixels, C elements each, next to each other in NHWC, to a window's rows: the first and the last four of a pair's six or eight.
RIDGE_INLINE RIDGE_VT void copy_pairs(const xt *from, int64_t n, const int C, float *to) {
  for (int64_t j = 0; j < n; j++, from += 2 * C, to += DEPTH) {
    const quad first = load_quad(from), last = load_quad(from + 2 * C - 4);
    memcpy(to, &first, sizeof(quad)), memcpy(to + 2 * C - 4, &last, sizeof(quad));
  }
}

// A pixel of a row of pairs, w columns from the padding's first one on: from[0], from[chan], ...
RIDGE_INLINE void copy_pixel(const xt *from, int64_t chan, int64_t C, int64_t w, float *row) {
  for (int64_t c = 0; c < C; c++) row[w / 2 * DEPTH + w % 2 * C + c] = widen(from[c * chan]);
}

// The same of VL pixels in NCHW. Pixels are written as quads: of three channels the fourth element is 0 and comes where the next pixel's first one will.
RIDGE_INLINE RIDGE_VT void copy_planes(const xt *from, int64_t chan, int64_t C, int64_t w, float *row) {
  mv in[4] = {0}, pixels[4];
  RIDGE_UNROLL_ALL
  for (int c = 0; c < 4; c++)
    if (c < C) in[c] = input_at(from + c * chan, 0, 0);
  CONV_TURN(pixels, in[0], in[1], in[2], in[3]); // lane group g of pixels[j]: pixel 4g + j
  RIDGE_UNROLL_ALL
  for (int g = 0; g < VL / 4; g++) {
    RIDGE_UNROLL_ALL
    for (int j = 0; j < 4; j++, w++) memcpy(row + w / 2 * DEPTH + w % 2 * C, (const float *)&pixels[j] + 4 * g, sizeof(quad));
  }
}

// Where pair h of rows of a row of tiles is in the window: the last three are the first ones of the next row of tiles, and stay.
RIDGE_INLINE int64_t pair_at(const plan *p, int64_t tile, int64_t h) { return (tile % p->per / p->across * STEP + h) % MOST * p->wide * DEPTH; }

// Copies the input rows of a row of tiles, with their padding: [pair of rows][pair of columns][DEPTH]. Pairs begin at the image's corner less its
// padding, so that one may lie across a side. next: the window has the row of tiles before.
RIDGE_VT static void copy_rows(const plan *p, int64_t tile, float *window, int next) {
  const ridge_conv_args *a = p->a;
  const int64_t C = a->C, P = a->H * a->W, top = tile % p->per / p->across * STEP * 2 - a->pad_h;
  const xt *image = (const xt *)a->x + tile / p->per * C * P;
  const int64_t chan = a->layout == 0 ? P : 1, pix = a->layout == 0 ? 1 : C;
  const int64_t end = a->W + a->pad_w < 2 * p->wide ? a->W + a->pad_w : 2 * p->wide; // columns from the padding's first one on
  for (int64_t h = next && tile % p->per >= p->across ? MOST - STEP : 0; h < MOST; h++) {
    float *pair = window + pair_at(p, tile, h);
    const int64_t y = top + 2 * h;
    if (y < 0 || y + 1 >= a->H) memset(pair, 0, (size_t)(p->wide * DEPTH) * sizeof(float));
    else { // padding left and right
      memset(pair, 0, (size_t)((a->pad_w + 1) / 2 * DEPTH) * sizeof(float));
      memset(pair + end / 2 * DEPTH, 0, (size_t)((p->wide - end / 2) * DEPTH) * sizeof(float));
    }
    for (int64_t down = 0; down < 2; down++) {
      if (y + down < 0 || y + down >= a->H) continue;
      float *row = pair + down * 2 * C;
      const xt *from = image + ((y + down) * a->W - a->pad_w) * pix;
      int64_t w = a->pad_w;
      if (a->layout == 1) {
        for (; w % 2 && w < end; w++) copy_pixel(from + w * C, 1, C, w, row);
        const int64_t pairs = w < end ? (end - w) / 2 : 0;
        if (C == 3) copy_pairs(from + w * C, pairs, 3, row + w / 2 * DEPTH);
        else copy_pairs(from + w * C, pairs, 4, row + w / 2 * DEPTH);
        w += 2 * pairs;
      } else if (w % 2) {
        for (; w + VL <= end; w += VL) copy_planes(from + w, P, C, w, row);
      } else {
        for (; w + VL <= end; w += VL) copy_planes(from + w, P, C, w, row);
      }
      for (; w < end; w++) copy_pixel(from + w * pix, chan, C, w, row);
    }
  }
}

// Transforms the inputs of one tile to V[.][i][.] of the block.
RIDGE_VT static void inputs(const plan *p, int64_t tile, int64_t i, const float *zeros, const float *window, float *V) {
  (void)zeros;
  const float *at[MOST];
  for (int64_t h = 0; h < MOST; h++) at[h] = window + pair_at(p, tile, h) + tile % p->across * STEP * DEPTH;
  float *v = V + i * DEPTH;
  for (int64_t c = 0; c < p->run; c += VL) {
    mv t[MOST][MOST];
    RIDGE_UNROLL_ALL
    for (int w = 0; w < MOST; w++) {
      mv d[MOST], col[MOST];
      RIDGE_UNROLL_ALL
      for (int h = 0; h < MOST; h++) d[h] = *(const mv_any *)(at[h] + w * DEPTH + c);
      turn_in(STEP, d, col);
      RIDGE_UNROLL_ALL
      for (int h = 0; h < MOST; h++) t[h][w] = col[h];
    }
    float *to = v + c;
    RIDGE_UNROLL_ALL
    for (int h = 0; h < MOST; h++) {
      mv row[MOST];
      turn_in(STEP, t[h], row);
      RIDGE_UNROLL_ALL
      for (int w = 0; w < MOST; w++, to += p->v_pos) *(mv_any *)to = row[w];
    }
  }
}

// Transforms the filters of NR channels from k to U[position][4C][NR].
RIDGE_VT static void filters(const plan *p, int64_t k, float *U) {
  const ridge_conv_args *a = p->a;
  const int64_t C = a->C, chan = a->layout == 0 ? 49 : 1, tap = a->layout == 0 ? 1 : C;
  for (int64_t e = 0; e < 4 * C; e++)
    for (int v = 0; v < RIDGE_NV; v++) {
      const int64_t down = e / (2 * C), right = e / C % 2;
      const xt *w = (const xt *)a->w + (k + v * VL) * 49 * C + e % C * chan;
      mv t[TURNS][TAPS];
      for (int s = 0; s < TAPS; s++) {
        mv g[TAPS] = {0}, u[TURNS];
        for (int64_t r = down; r < 7; r += 2)
          for (int l = 0; l < VL && 2 * s + right < 7; l++) g[r / 2][l] = widen(w[l * 49 * C + (r * 7 + 2 * s + right) * tap]);
        turn_filter(g, u);
        for (int h = 0; h < TURNS; h++) t[h][s] = u[h];
      }
      float *to = U + e * NR + v * VL;
      for (int h = 0; h < TURNS; h++) {
        mv u[TURNS];
        turn_filter(t[h], u);
        for (int s = 0; s < TURNS; s++, to += p->u_pos) *(mv_any *)to = u[s];
      }
    }
}

#endif
