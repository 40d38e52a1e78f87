// A stem's inputs and filters, phase by phase (conv_winograd_stem.h). Phases of a row of V and of filters: [row of the pair][column of the pair][C].
#ifndef RIDGE_CONV_WINOGRAD_STEM_IN_H
#define RIDGE_CONV_WINOGRAD_STEM_IN_H

// Copies n pairs of pixels, C elements each, next to each other in NHWC, to a window's rows.
RIDGE_INLINE void copy_pairs(const xt *from, int64_t n, const int C, float *to) {
  for (int64_t j = 0; j < n; j++, from += 2 * C, to += DEPTH) {
    if (sizeof(xt) == sizeof(float)) memcpy(to, from, 2 * (size_t)C * sizeof(float));
    else for (int i = 0; i < 2 * C; i++) to[i] = widen(from[i]);
  }
}

// Copies the input rows of a row of tiles, with their padding: [pair of rows][pair of columns][DEPTH]. Pairs begin at the image's corner less its
// padding, so that one may lie across a side.
RIDGE_VT static void copy_rows(const plan *p, int64_t tile, float *window) {
  const ridge_conv_args *a = p->a;
  const int64_t C = a->C, P = a->H * a->W, top = tile % p->per / p->across * p->step * 2 - a->pad_h;
  const xt *image = (const xt *)a->x + tile / p->per * C * P;
  const int64_t chan = a->layout == 0 ? P : 1, pix = a->layout == 0 ? 1 : C;
  memset(window, 0, (size_t)(p->points * p->wide * DEPTH) * sizeof(float));
  const int64_t end = a->W + a->pad_w < 2 * p->wide ? a->W + a->pad_w : 2 * p->wide; // columns from the padding's first one on
  for (int64_t h = 0; h < 2 * p->points; h++) {
    if (top + h < 0 || top + h >= a->H) continue;
    float *row = window + h / 2 * p->wide * DEPTH + h % 2 * 2 * C;
    const xt *from = image + ((top + h) * a->W - a->pad_w) * pix;
    int64_t w = a->pad_w;
    if (a->layout == 1) {
      if (w % 2 && w < end) {
        for (int64_t c = 0; c < C; c++) row[w / 2 * DEPTH + C + c] = widen(from[w * C + c]);
        w++;
      }
      const int64_t pairs = (end - w) / 2;
      if (pairs > 0) {
        const xt *pair = from + w * C;
        float *to = row + w / 2 * DEPTH;
        if (C == 3) copy_pairs(pair, pairs, 3, to);
        else copy_pairs(pair, pairs, 4, to);
        w += 2 * pairs;
      }
    }
    for (; w < end; w++)
      for (int64_t c = 0; c < C; c++) row[w / 2 * DEPTH + w % 2 * C + c] = widen(from[w * pix + c * chan]);
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
