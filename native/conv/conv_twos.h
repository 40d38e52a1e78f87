// The last elements of a tile on AVX2 (in conv_tile.h): by pairs of pixels over three elements, each pair to its end and to y before the next
// one. On Zen 3 stores beside multiply-adds take their place unless they are spread among them: 12 behind a tile cost 19 to 25 cycles, four
// behind each 12 multiply-adds none or one (gemm_exact.h has the table). The bias is added from memory, where loads have room.
#define CONV_TWOS
enum { TWOS_ELEMENTS = 3 };

// One element of one pixel: in one piece of assembly, in this order (why: gemm_exact.h).
RIDGE_INLINE RIDGE_VT void twos_row(mv acc[RIDGE_NV], const me_any *p, const mv bv[RIDGE_NV]) {
  mv x;
  __asm__("vbroadcastss %3, %2\n\tvfmadd231ps %4, %2, %0\n\tvfmadd231ps %5, %2, %1"
          : "+&x"(acc[0]), "+&x"(acc[1]), "=&x"(x)
          : "m"(*p), "x"(bv[0]), "x"(bv[1]));
}

// One tap's elements, as tile_tap. The count ends at 0, and empty instructions hide it and the pointers from gcc, which would make more of
// them and spill.
RIDGE_INLINE RIDGE_VT const me *twos_tap(const int mr, const char *const *pixel, int64_t offset, int64_t run, const me *b, mv acc[RIDGE_MR][RIDGE_NV]) {
  const me_any *p[RIDGE_MR];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    p[i] = (const me_any *)(pixel[i] + offset) + run;
    __asm__("" : "+r"(p[i]));
  }
#define TWOS_STEP(q)                                                                                 \
  do {                                                                                               \
    const mv bv[RIDGE_NV] = {*(const mv_any *)(b + (q) * NR), *(const mv_any *)(b + (q) * NR + VL)}; \
    RIDGE_UNROLL_ALL                                                                                 \
    for (int i = 0; i < mr; i++) twos_row(acc[i], p[i] + e + (q), bv);                               \
  } while (0)
  int64_t e = -run;
  for (; e <= -4; e += 4, b += 4 * NR) {
    TWOS_STEP(0);
    TWOS_STEP(1);
    TWOS_STEP(2);
    TWOS_STEP(3);
    __asm__ volatile("" : "+r"(e), "+r"(b));
  }
  for (; e < 0; e++, b += NR) {
    TWOS_STEP(0);
    __asm__ volatile("" : "+r"(e), "+r"(b));
  }
#undef TWOS_STEP
  return b;
}

// The last elements of a tile, b of theirs, `from` bytes behind where the last tap's pixels point; the result to place `at`, channel k, of y.
RIDGE_INLINE RIDGE_VT void twos_end(const int mr, const tile *t, const char *const *pixel, int64_t from, const me *b, int64_t k, int64_t at,
                                    mv acc[RIDGE_MR][RIDGE_NV]) {
  const ridge_conv_args *a = t->a;
  const int64_t K = a->K;
  const yt *residual = a->residual ? (const yt *)a->residual + at : NULL;
  yt *y = (yt *)a->y + at;
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i += 2) {
    const int end = i + 2 < mr ? i + 2 : mr;
    RIDGE_UNROLL_ALL
    for (int e = 0; e < TWOS_ELEMENTS; e++) {
      const mv bv[RIDGE_NV] = {*(const mv_any *)(b + e * NR), *(const mv_any *)(b + e * NR + VL)};
      RIDGE_UNROLL_ALL
      for (int r = i; r < end; r++) twos_row(acc[r], (const me_any *)(pixel[r] + from) + e, bv);
    }
    if (t->add) {
      RIDGE_UNROLL_ALL
      for (int r = i; r < end; r++) {
        RIDGE_UNROLL_ALL
        for (int v = 0; v < RIDGE_NV; v++) acc[r][v] = plus(acc[r][v], *(const mv_any *)(t->sums + r * NR + v * VL));
      }
    }
    if (a->bias) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < RIDGE_NV; v++) {
        const mv bias = load_out((const yt *)a->bias + k + v * VL);
        RIDGE_UNROLL_ALL
        for (int r = i; r < end; r++) acc[r][v] = plus(acc[r][v], bias);
      }
    }
    if (residual) {
      RIDGE_UNROLL_ALL
      for (int r = i; r < end; r++, residual += K) {
        RIDGE_UNROLL_ALL
        for (int v = 0; v < RIDGE_NV; v++) acc[r][v] = plus(acc[r][v], load_out(residual + v * VL));
      }
    }
    if (a->act == RIDGE_ACT_RELU) {
      RIDGE_UNROLL_ALL
      for (int r = i; r < end; r++) {
        RIDGE_UNROLL_ALL
        for (int v = 0; v < RIDGE_NV; v++) acc[r][v] = activate(acc[r][v], RIDGE_ACT_RELU);
      }
    }
    RIDGE_UNROLL_ALL
    for (int r = i; r < end; r++, y += K) store_pixel(y, RIDGE_NV, acc[r]);
    __asm__ volatile("" : "+r"(b), "+r"(y) : : "memory"); // pairs in this order
  }
}

// A tile times `panels` panels that follow each other, or, where `down` is not 0, so many tiles of pixels that lie `down` bytes on times one panel: little
// stands between the end of one and the multiply-adds of the next.
RIDGE_INLINE RIDGE_VT void twos_tiles(const int mr, const tile *t) {
  const me *b = t->panel;
  int64_t k = t->k, at = t->at, from = t->from * (int64_t)sizeof(me);
  const int64_t right = t->down ? mr * t->a->K : NR;
  for (int64_t left = t->panels; left > 0; left--) {
    mv acc[RIDGE_MR][RIDGE_NV];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < RIDGE_NV; v++) acc[i][v] = (mv){0};
    }
    if (t->far) { // the lines that are written next
      const yt *y = (const yt *)t->a->y + at + (left > 1 ? right : t->next);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++, y += t->a->K) __builtin_prefetch(y, 1);
    }
    if (t->a->residual) {
      const yt *r = (const yt *)t->a->residual + at;
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++, r += t->a->K) __builtin_prefetch(r);
    }
    const char *const *pixel = t->pixel;
    int64_t offset = from;
    for (int64_t taps = t->taps; taps > 1; taps--, pixel += t->advance, offset += t->pitch) b = twos_tap(mr, pixel, offset, t->run, b, acc);
    b = twos_tap(mr, pixel, offset, t->run - TWOS_ELEMENTS, b, acc);
    twos_end(mr, t, pixel, offset + (t->run - TWOS_ELEMENTS) * (int64_t)sizeof(me), b, k, at, acc);
    at += right;
    if (t->down) from += t->down, b = t->panel;
    else k += NR, b += TWOS_ELEMENTS * NR;
  }
}
