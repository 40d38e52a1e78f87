// The portable kernels: the family's vector bodies at 16 bytes without any ISA attribute (each
// compiler lowers them to what its baseline has), the scalar transpose and the pointer chase.
#define VB 16
#define TARGET
#define K(name) ridge_##name##_portable
#include "bandwidth_vector.h"
#include "stream_vector.h"

// transpose, layout: y[cols,rows] = a[rows,cols]^T of each image in tiles of 16 x 16 elements, so that
// every line of a and y that a tile touches is used whole while it is in L1. Tiles are numbered
// image by image along the rows of y and shared in contiguous runs.
#define TRANSPOSE(name, T)                                                              \
  int ridge_##name(const void *args, const ridge_ctx *ctx) {                            \
    const ridge_memory_args *g = args;                                                  \
    const T *a = g->a;                                                                  \
    T *y = g->y;                                                                        \
    int64_t R = g->rows, C = g->cols, across = (R + 15) / 16, down = (C + 15) / 16, from, to; \
    ridge_share(g->images * across * down, 1, ctx->tid, ctx->nthreads, &from, &to);     \
    for (int64_t t = from; t < to; t++) {                                               \
      int64_t r0 = t % across * 16, c0 = t / across % down * 16;                        \
      int64_t image = t / across / down * R * C;                                        \
      int64_t r1 = r0 + 16 < R ? r0 + 16 : R, c1 = c0 + 16 < C ? c0 + 16 : C;           \
      for (int64_t c = c0; c < c1; c++)                                                 \
        for (int64_t r = r0; r < r1; r++) y[image + c * R + r] = a[image + r * C + c];  \
    }                                                                                   \
    return RIDGE_OK;                                                                    \
  }

TRANSPOSE(transpose_fp32_portable, uint32_t)
TRANSPOSE(transpose_bf16_portable, uint16_t)
TRANSPOSE(transpose_int8_portable, uint8_t)

// chase: i = a[i], steps times from where y says that the last launch ended, or from 0 where y is no link's index. Each load needs the
// one before, so a step costs the load-to-use latency (with a scaled index: one cycle more than a bare pointer on many cores). Thread 0
// walks, the others wait at the team's barrier. The last i is the proof of the walk.
int ridge_chase_int64_portable(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  if (ctx->tid != 0) return RIDGE_OK;
  const int64_t *a = g->a;
  int64_t i = *(const int64_t *)g->y, left = g->steps;
  if (i < 0 || i >= g->n || i % 8) i = 0;
  for (; left >= 8; left -= 8)
    RIDGE_UNROLL(8) for (int u = 0; u < 8; u++) i = a[i];
  for (; left > 0; left--) i = a[i];
  *(int64_t *)g->y = i;
  return RIDGE_OK;
}
