// The body of the vector transposes: y[C,R] = a[R,C]^T of each image, contiguous and row-major.
//
// Preconditions: pointers aligned to their element, y does not overlap a; any R and C. 0 FLOP;
// bytes 2*R*C elements an image. Binding limit: memory. A plain 2-D loop falls far below it for pitches
// that are powers of two: the lines of a column of tiles then share a few cache sets and are
// evicted half used. So each tile of TR x TC elements goes through a stage in L1 in two steps:
//   1. blocks of MR x MC elements are transposed in registers from a to the stage; a block row
//      reads whole lines of MR rows of a, each line once. The last blocks of a tile overlap the ones before them where
//      its height or width is no multiple;
//   2. the stage's TC rows of TR contiguous elements are stored to y, whole lines at a time.
// Tiles are numbered image by image along the rows of y, so that neighbouring tiles extend the same rows, and
// shared in contiguous runs.
//
// The including file defines T, TARGET, MR, MC, TR, TC, MICRO(src, ld, dst, ldd) (a block; dst has
// MC rows of MR elements, ldd apart, at any alignment), ROW(y, stage, n) (stores n elements) and FINISH().
#include "memory.h"

// The stage's rows are a line more apart than they are long: at a power of two the lines that a
// block row writes would share a few sets of L1.
enum { PITCH = TR + (int)(RIDGE_CACHE_LINE / sizeof(T)) };

// What whole blocks leave of a tile: blocks that overlap them, or element by element where there is none. Not
// inline: as one pair of loops with the whole blocks it cost these a tenth of their rate.
__attribute__((noinline)) TARGET static void transpose_tile_rest(const T *x, int64_t lda, T *stage, int64_t h, int64_t w) {
  int64_t hb = h / MR * MR, wb = w / MC * MC, r1 = h - MR, c1 = w - MC;
  if (hb == 0 || wb == 0) {
    for (int64_t c = 0; c < w; c++)
      for (int64_t r = 0; r < h; r++) stage[c * PITCH + r] = x[r * lda + c];
    return;
  }
  for (int64_t c = 0; c < wb && hb < h; c += MC) MICRO(x + r1 * lda + c, lda, stage + c * PITCH + r1, PITCH);
  for (int64_t r = 0; r < hb && wb < w; r += MR) MICRO(x + r * lda + c1, lda, stage + c1 * PITCH + r, PITCH);
  if (hb < h && wb < w) MICRO(x + r1 * lda + c1, lda, stage + c1 * PITCH + r1, PITCH);
}

// The tile of the thread's that lies below tile t, w columns wide at x, where both are whole; else NULL.
static inline const T *transpose_next(const ridge_memory_args *g, const T *x, int64_t w, int64_t t, int64_t to, int64_t across) {
  const int64_t r0 = (t + 1) % across * TR;
  return t + 1 < to && r0 > 0 && g->rows - r0 >= TR && w == TC ? x + TR * g->cols : NULL;
}

// far: from memory, where the next tile's rows are asked for into L2 (Zen 4, 8192x8192 fp32, two threads: 1.14 times as fast; in L3 0.95 to 1.0).
#define TRANSPOSE_KERNEL(function, ROW, FINISH, far)                                         \
  TARGET int function(const void *args, const ridge_ctx *ctx) {                              \
    const ridge_memory_args *g = args;                                                       \
    const T *a = g->a;                                                                       \
    T *y = g->y;                                                                             \
    T stage[PITCH * TC] __attribute__((aligned(RIDGE_CACHE_LINE)));                          \
    int64_t R = g->rows, C = g->cols, across = (R + TR - 1) / TR, down = (C + TC - 1) / TC, from, to; \
    ridge_share(g->images * across * down, 1, ctx->tid, ctx->nthreads, &from, &to);          \
    for (int64_t t = from; t < to; t++) {                                                    \
      int64_t r0 = t % across * TR, c0 = t / across % down * TC, image = t / across / down * R * C; \
      int64_t h = R - r0 < TR ? R - r0 : TR, w = C - c0 < TC ? C - c0 : TC;                  \
      int64_t hb = h / MR * MR, wb = w / MC * MC;                                            \
      const T *x = a + image + r0 * C + c0;                                                  \
      const T *next = far ? transpose_next(g, x, w, t, to, across) : NULL;                   \
      for (int64_t r = 0; r < hb; r += MR) {                                                 \
        if (next)                                                                            \
          RIDGE_UNROLL(16) for (int i = 0; i < MR; i++)                                      \
            RIDGE_UNROLL(8) for (int l = 0; l < TC * (int)sizeof(T); l += RIDGE_CACHE_LINE)  \
              __builtin_prefetch((const char *)(next + (r + i) * C) + l, 0, 2);              \
        for (int64_t c = 0; c < wb; c += MC) MICRO(x + r * C + c, C, stage + c * PITCH + r, PITCH); \
      }                                                                                      \
      if (hb < h || wb < w) transpose_tile_rest(x, C, stage, h, w);                          \
      for (int64_t c = 0; c < w; c++) ROW(y + image + (c0 + c) * R + r0, stage + c * PITCH, h); \
    }                                                                                        \
    FINISH();                                                                                \
    return RIDGE_OK;                                                                         \
  }
