#include "badmemory.h"

#include "../../include/ridge_memory.h"

// A "transpose" that only returns, as a view would: it moves no byte.
static int view(const void *args, const ridge_ctx *ctx) {
  (void)args, (void)ctx;
  return RIDGE_OK;
}

// Thread 0 copies all but the last element.
static int short_copy(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  if (ctx->tid == 0)
    for (int64_t i = 0; i + 1 < g->n; i++) ((float *)g->y)[i] = ((const float *)g->a)[i];
  return RIDGE_OK;
}

// A conversion of images that keeps their order, as if the two layouts were one.
static int same_order(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  if (ctx->tid == 0)
    for (int64_t i = 0; i < g->n; i++) ((float *)g->y)[i] = ((const float *)g->a)[i];
  return RIDGE_OK;
}

// A conversion of the first image alone.
static int first_image(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  if (ctx->tid == 0)
    for (int64_t i = 0; i < g->rows * g->cols; i++)
      ((float *)g->y)[i] = ((const float *)g->a)[i % g->rows * g->cols + i / g->rows];
  return RIDGE_OK;
}

// Reads the working set once, whatever the passes.
static int read_once(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  uint32_t sum = 0;
  if (ctx->tid != 0) return RIDGE_OK;
  for (int64_t i = 0; i < g->n; i++) sum += ((const uint32_t *)g->a)[i];
  *(uint32_t *)g->y = sum;
  return RIDGE_OK;
}

// Writes the working set once, whatever the passes, as a compiler that merges them would.
static int write_once(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  const float *a = g->a, *b = g->b, s = (float)g->s;
  float *y = g->y;
  if (ctx->tid != 0) return RIDGE_OK;
  for (int64_t i = 0; i < g->n; i++) y[i] = b ? a[i] + s * b[i] : a ? a[i] : s;
  return RIDGE_OK;
}

// The sum of products without its last element.
static int short_dot(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  const float *a = g->a, *b = g->b;
  double sum = 0;
  if (ctx->tid != 0) return RIDGE_OK;
  for (int64_t i = 0; i + 1 < g->n; i++) sum += (double)a[i] * b[i];
  *(float *)g->y = (float)sum;
  return RIDGE_OK;
}

// Stops the walk one step early.
static int short_chase(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  int64_t i = 0;
  if (ctx->tid != 0) return RIDGE_OK;
  for (int64_t s = 1; s < g->steps; s++) i = ((const int64_t *)g->a)[i];
  *(int64_t *)g->y = i;
  return RIDGE_OK;
}

static const ridge_kernel table[] = {
    {"transpose_fp32_view", "transpose", "fp32", "fp32", RIDGE_ISA_NONE, 99, 0, 1, view, NULL, NULL},
    {"layout_fp32_same_order", "layout", "fp32", "fp32", RIDGE_ISA_NONE, 99, 0, 1, same_order, NULL, NULL},
    {"layout_fp32_first_image", "layout", "fp32", "fp32", RIDGE_ISA_NONE, 99, 0, 1, first_image, NULL, NULL},
    {"copy_fp32_short", "copy stream_copy", "fp32", "fp32", RIDGE_ISA_NONE, 99, 0, 1, short_copy, NULL, NULL},
    {"bandwidth_fp32_once", "bandwidth", "fp32", "fp32", RIDGE_ISA_NONE, 99, 1, 1, read_once, NULL, NULL},
    {"bandwidth_fp32_written_once", "bandwidth", "fp32", "fp32", RIDGE_ISA_NONE, 98, 1, 1, write_once, NULL, NULL},
    {"dot_fp32_short", "dot", "fp32", "fp32", RIDGE_ISA_NONE, 99, 2, 1, short_dot, NULL, NULL},
    {"chase_int64_short", "chase", "int64", "int64", RIDGE_ISA_NONE, 99, 0, 1, short_chase, NULL, NULL},
};

const struct ridge_kernel *ridge_badmemory_table(void) { return table; }
int ridge_badmemory_table_len(void) { return sizeof table / sizeof *table; }
