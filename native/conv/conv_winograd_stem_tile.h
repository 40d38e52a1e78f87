// A stem's products at a position (conv_winograd_stem.h): rows of V follow each other DEPTH floats apart and are short, 12 elements of three channels. The tile
// of conv_tile.h would spend a third of the time around them, on pointers to pixels, loops for any length and its call; here a tile has as many rows as
// registers hold, one pointer, and a turn of its loop is the C elements of a phase.
// AVX-512, 10x32: 20 multiply-adds, 2 loads and 10 broadcasts an element, 23 registers (13x32 0.94 of it, 8x32 and 12x32 as fast: 38 tiles of a row make four tiles of 10 or 9), or 6x64: 24, 4
// and 6; AVX2, 6x16, and NEON, 6x16: as conv_tile.h's.
#ifndef RIDGE_CONV_WINOGRAD_STEM_TILE_H
#define RIDGE_CONV_WINOGRAD_STEM_TILE_H

#if RIDGE_VL == 16 && RIDGE_NV == 2
enum { ROWS = 10 };
#else
enum { ROWS = 6 };
#endif

RIDGE_INLINE RIDGE_VT void stem_tile(const int rows, const int C, int64_t phases, const float *v, const float *u, float *m) {
  mv acc[ROWS][RIDGE_NV];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < rows; i++) {
    RIDGE_UNROLL_ALL
    for (int n = 0; n < RIDGE_NV; n++) acc[i][n] = (mv){0};
  }
  for (; phases > 0; phases--, v += C, u += C * NR) {
    RIDGE_UNROLL_ALL
    for (int c = 0; c < C; c++) {
      mv b[RIDGE_NV];
      RIDGE_UNROLL_ALL
      for (int n = 0; n < RIDGE_NV; n++) b[n] = *(const mv_any *)(u + c * NR + n * VL);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < rows; i++) {
        const mv x = splat(v[i * DEPTH + c]);
        RIDGE_UNROLL_ALL
        for (int n = 0; n < RIDGE_NV; n++) acc[i][n] += b[n] * x;
      }
    }
  }
  RIDGE_UNROLL_ALL
  for (int i = 0; i < rows; i++) {
    RIDGE_UNROLL_ALL
    for (int n = 0; n < RIDGE_NV; n++) *(mv_any *)(m + i * NR + n * VL) = acc[i][n];
  }
}

// rows of V times U: C channels, as many phases.
#if defined(RIDGE_MODEL)
__attribute__((noinline)) static void stem_rows(int64_t rows, int64_t C, int64_t phases, const float *v, const float *u, float *m) {
  stem_tile((int)rows, (int)C, phases, v, u, m);
}
#else
typedef void (*stem_fn)(int64_t, const float *, const float *, float *);
#define STEM_ROWS(f) f(1) f(2) f(3) f(4) f(5) f(6)
#if RIDGE_VL == 16 && RIDGE_NV == 2
#define STEM_MORE(f) f(7) f(8) f(9) f(10)
#else
#define STEM_MORE(f)
#endif
#define STEM_TILE(rows)                                                                                                        \
  __attribute__((noinline)) RIDGE_VT static void stem_##rows##_3(int64_t phases, const float *v, const float *u, float *m) { \
    stem_tile(rows, 3, phases, v, u, m);                                                                                       \
  }                                                                                                                            \
  __attribute__((noinline)) RIDGE_VT static void stem_##rows##_4(int64_t phases, const float *v, const float *u, float *m) { \
    stem_tile(rows, 4, phases, v, u, m);                                                                                       \
  }
STEM_ROWS(STEM_TILE) STEM_MORE(STEM_TILE)
RIDGE_INLINE void stem_rows(int64_t rows, int64_t C, int64_t phases, const float *v, const float *u, float *m) {
#define STEM_NAMES(rows) {stem_##rows##_3, stem_##rows##_4},
  static const stem_fn of[ROWS][2] = {STEM_ROWS(STEM_NAMES) STEM_MORE(STEM_NAMES)};
  of[rows - 1][C - 3](phases, v, u, m);
}
#endif

#endif
