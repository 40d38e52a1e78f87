// Blocking constants and workspace sizes, known to the kernels and to the table.
#ifndef RIDGE_REDUCTION_SIZES_H
#define RIDGE_REDUCTION_SIZES_H

#include "../include/ridge_reduction.h"

enum {
  RD_GROUP = 8,        // rows taken in together along dim 0
  RD_TILE = 4096,      // doubles of columns that stay in the cache (32 KiB)
  RD_NEXT = 64 << 10,  // bytes of a row up to which the next one finds room in L2 beside it
  RD_STREAMED = 4 << 10, // bytes of a row of exponentials that stays in L1 beside the one before, where the output streams past the caches
  RD_ALIGNED = 256,  // columns from which on rows are worth aligned groups
  RD_LONG = 1 << 20,   // bytes of a run from memory from which on it is read as several
  RD_STRIP = 1024,     // columns of a strip of softmax along dim 0: 4 KiB of each fp32 row
};

RIDGE_INLINE int64_t rd_min(int64_t a, int64_t b) { return a < b ? a : b; }
RIDGE_INLINE int64_t rd_max(int64_t a, int64_t b) { return a > b ? a : b; }

// Whether dim 0 splits the columns: enough of them that each thread reads long strips.
RIDGE_INLINE int rd_by_columns(const ridge_reduction_args *g, int nthreads) {
  return nthreads == 1 || g->cols >= rd_min(nthreads * 1024ll, 32768);
}

// Columns rounded up to whole cache lines of doubles.
RIDGE_INLINE int64_t rd_pitch(const ridge_reduction_args *g) { return (g->cols + 7) / 8 * 8; }

// Doubles of a column along dim 0 for elements of so many bytes: its sum, of fp64 also what its additions lost.
#define rd_doubles(size) ((size) == 8 ? 2 : 1)

// sum, mean, max, min: column sums per thread along dim 0, else one line per thread; argmax along
// dim 0: best values and their rows of a tile.
RIDGE_INLINE int64_t rd_reduce_bytes(const ridge_reduction_args *g, int nthreads, int size) {
  if (g->dim != 0) return nthreads * 64ll;
  if (g->op == RIDGE_RD_ARGMAX) return nthreads * RD_TILE * 16ll;
  return 8ll * nthreads * (rd_by_columns(g, nthreads) ? RD_TILE : rd_doubles(size) * rd_pitch(g));
}

// Two fp32 rows of exponentials per busy thread along dim 1, each with room for two partial groups; along dim 0 per thread those of
// a group of columns, or float64 sums, fp32 maxima and reciprocals of a strip.
RIDGE_INLINE int64_t rd_row_bytes(const ridge_reduction_args *g) { return ridge_apart((g->cols + 143) / 16 * 64); }

// Whether softmax along dim 0 keeps the exponentials of a group of columns (64 at most), for elements of so many bytes: where they and the
// columns stay near. Zen 4, two threads, 16384 x 1024 and 8192 x 8192: fp32 0.83 of the speed of strips, bf16 1.48 and 1.39 times.
RIDGE_INLINE int rd_keeps_columns(const ridge_reduction_args *g, int size) { return g->rows <= (size == 2 ? 16384 : 4096); }
RIDGE_INLINE int64_t rd_column_bytes(const ridge_reduction_args *g, int size) {
  return ridge_apart(rd_keeps_columns(g, size) ? g->rows * 64 * 4 : (int64_t)RD_STRIP * 16);
}
RIDGE_INLINE int64_t rd_softmax_bytes(const ridge_reduction_args *g, int nthreads, int size) {
  if (g->dim == 0) return nthreads * rd_column_bytes(g, size);
  return 2 * rd_row_bytes(g) * rd_min(g->rows, nthreads);
}

// A row of sums that add_*_norm keeps in cache beside the one it streams out; two per thread.
RIDGE_INLINE int64_t rd_kept_bytes(const ridge_reduction_args *g) { return ridge_apart(g->cols * 4); }

#endif
