// The ends of tiles (in conv_tile.h): of whole ones on AVX-512 pixel by pixel, of those whose last vector is not whole by masks.
#ifndef RIDGE_CONV_TILE_END_H
#define RIDGE_CONV_TILE_END_H

#if defined(RIDGE_MAC_MEMORY) && !defined(CONV_INT8)
#define CONV_ROWS
// The last tap of a whole tile, whose last two elements go pixel by pixel, each pixel to its end and to y before the next one. Behind the
// tile all stores at once hold up the next tile's multiply-adds: on Zen 4 28 of 512 bits by 48 cycles, one for every two multiply-adds by none.
// (Five of a pixel's eight factors come from memory then, which loads have room for.) The bias comes
// before the last two elements, where four registers are free for it: behind them it would have to be loaded for each pixel, which costs what
// this gains (0.98 to 1.0), and from the start each partial sum would be rounded at its size.
// Requantised bytes are not written so: their arithmetic, not their stores, is what a tile's end takes.
RIDGE_INLINE RIDGE_VT void tile_rows(const tile *t, const char *const *pixel, int64_t from, int64_t run, const me *b, mv acc[RIDGE_WIDE][RIDGE_NV]) {
  b = tile_tap(0, RIDGE_MR, RIDGE_NV, pixel, from, run - 2, b, 0, ASKS, t->ahead, t->pace, acc);
  __asm__ volatile("" : "+r"(t) : : "memory"); // beside its pointers the loop has registers for nothing but t: all else is read again
  pixel = t->pixel + (t->taps - 1) * t->advance;
  from = t->from * (int64_t)sizeof(me) + (t->taps - 1) * t->pitch + (t->run - 2) * (int64_t)sizeof(me);
  const ridge_conv_args *a = t->a;
  const int64_t K = a->K;
  if (a->bias) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < RIDGE_NV; v++) {
      const mv bias = load_out((const yt *)a->bias + t->k + v * VL);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < RIDGE_MR; i++) acc[i][v] = plus(acc[i][v], bias);
    }
  }
  mv bv[RIDGE_NV - 1];
  RIDGE_UNROLL_ALL
  for (int v = 0; v < RIDGE_NV - 1; v++) RIDGE_BRING(bv[v], *(const mv_any *)(b + v * VL));
  RIDGE_UNROLL_ALL
  for (int i = 0; i < RIDGE_MR; i++) {
    const me_any *p = (const me_any *)(pixel[i] + from);
    mv x;
    RIDGE_SPREAD(x, p[0]);
    RIDGE_UNROLL_ALL
    for (int v = 0; v < RIDGE_NV - 1; v++) RIDGE_MAC_REGISTER(acc[i][v], bv[v], x);
    RIDGE_MAC_MEMORY(acc[i][RIDGE_NV - 1], *(const mv_any *)(b + (RIDGE_NV - 1) * VL), x);
    RIDGE_SPREAD(x, p[1]);
    RIDGE_UNROLL_ALL
    for (int v = 0; v < RIDGE_NV; v++) RIDGE_MAC_MEMORY(acc[i][v], *(const mv_any *)(b + NR + v * VL), x);
    if (t->add) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < RIDGE_NV; v++) acc[i][v] = plus(acc[i][v], *(const mv_any *)(t->sums + i * NR + v * VL));
    }
    const int64_t at = t->at + i * K;
    if (a->residual) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < RIDGE_NV; v++) acc[i][v] = plus(acc[i][v], load_out((const yt *)a->residual + at + v * VL));
    }
    if (a->act == RIDGE_ACT_RELU) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < RIDGE_NV; v++) acc[i][v] = activate(acc[i][v], RIDGE_ACT_RELU);
    }
    store_pixel((yt *)a->y + at, RIDGE_NV, acc[i]);
    __asm__ volatile("" ::: "memory"); // pixels in this order
  }
}
#endif

#if defined(CONV_MASKS)
// Bias, residual, ReLU and the store of a tile whose last vector is not whole.
RIDGE_INLINE RIDGE_VT void tile_tail(const int mr, const int nv, const tile *t, mv acc[RIDGE_WIDE][RIDGE_NV]) {
  const ridge_conv_args *a = t->a;
  const yt *residual = (const yt *)a->residual, *biases = (const yt *)a->bias;
  const float *scales = a->scale;
  void *const y = a->y;
  const int64_t K = a->K, k = t->k;
  const int act = a->act == RIDGE_ACT_RELU ? RIDGE_ACT_RELU : RIDGE_ACT_NONE; // others are not finished here
  const __mmask16 tail = (__mmask16)((1u << t->tail) - 1);
  RIDGE_UNROLL_ALL
  for (int v = 0; v < nv; v++) {
    const __mmask16 those = v + 1 < nv ? 0xffff : tail;
    int64_t at = t->at + v * VL;
    if (biases) {
      const mv bias = load_last(biases + k + v * VL, those);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) acc[i][v] = plus(acc[i][v], bias);
    }
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++, at += K) finish_masked(acc[i][v], those, y, residual, act, scales ? scales + k + v * VL : NULL, at);
  }
}
#endif

#endif
