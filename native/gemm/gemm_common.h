// What all GEMM variants share and that does not depend on a variant.
#ifndef RIDGE_GEMM_COMMON_H
#define RIDGE_GEMM_COMMON_H

#include <string.h>

#include "../include/ridge_gemm.h"
#include "../include/ridge_half.h"
#include "../include/ridge_requant.h"
#include "table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// The stored 16-bit formats.
#define GEMM_IS_BF16 1
#define GEMM_IS_FP16 2

// What multiplies in gemm_dot.h.
#define GEMM_MADD256 1
#define GEMM_VNNI256 2
#define GEMM_VNNI512 3
#define GEMM_SDOT 4
#define GEMM_USDOT 5
#define GEMM_AMX_INT8 6
#define GEMM_BF512 7
#define GEMM_AMX_BF16 8
#define GEMM_AMX_FP16 9
#define GEMM_FP512 10

typedef uint16_t gemm_u16 __attribute__((aligned(1), may_alias));
typedef uint32_t gemm_u32 __attribute__((aligned(1), may_alias));
typedef uint64_t gemm_u64x2 __attribute__((vector_size(16), may_alias));
typedef uint64_t gemm_u64 __attribute__((aligned(1), may_alias)); // eight bytes of any type

#define GEMM_THIN 3 // M up to here goes without packing B
#ifndef GEMM_THIN_MAX
#define GEMM_THIN_MAX 8 // where the rows of B lie in memory as they are read: gemm_thin.h
#endif
#ifndef GEMM_STRIP_MAX
#define GEMM_STRIP_MAX 18 // the same, with sums in registers: gemm_strip.h
#endif

// X(1, v) to X(n, v): tiles of every height.
#define GEMM_SMALL_2(X, v) X(1, v) X(2, v)
#define GEMM_SMALL_4(X, v) GEMM_SMALL_2(X, v) X(3, v) X(4, v)
#define GEMM_SMALL_6(X, v) GEMM_SMALL_4(X, v) X(5, v) X(6, v)
#define GEMM_SMALL_8(X, v) GEMM_SMALL_6(X, v) X(7, v) X(8, v)
#define GEMM_SMALL_12(X, v) GEMM_SMALL_8(X, v) X(9, v) X(10, v) X(11, v) X(12, v)
#define GEMM_SMALL_16(X, v) GEMM_SMALL_12(X, v) X(13, v) X(14, v) X(15, v) X(16, v)

#define GEMM_PASTE_(a, b) a##_##b
#define GEMM_PASTE(a, b) GEMM_PASTE_(a, b)
// A template function of the variant being compiled.
#define GEMM_F(x) GEMM_PASTE(x, GEMM_NAME)
#define GEMM_INLINE static inline __attribute__((always_inline, unused)) GEMM_TARGET
// A register tile's text, for heights and widths that are constants where it stands. In a model one function serves all of them: compiled for each,
// the models took gcc 162 s and not 44, with sanitizers 331 s and not 95.
#ifdef GEMM_MODEL
#define GEMM_TEMPLATE static __attribute__((noinline, unused)) GEMM_TARGET
#else
#define GEMM_TEMPLATE GEMM_INLINE
#endif
#define GEMM_NOINLINE static __attribute__((noinline, unused)) GEMM_TARGET

RIDGE_INLINE int64_t gemm_ceil(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
RIDGE_INLINE int64_t gemm_min(int64_t a, int64_t b) { return a < b ? a : b; }
RIDGE_INLINE int64_t gemm_most(int64_t a, int64_t b) { return a > b ? a : b; }

// The block length that cuts n into the fewest blocks of at most max, all about equal, in
// whole units: a last block of a few columns would cost a whole pass.
RIDGE_INLINE int64_t gemm_block(int64_t n, int64_t max, int64_t unit) {
  if (n <= 0) return unit;
  int64_t blocks = (n + max - 1) / max;
  return gemm_ceil((n + blocks - 1) / blocks, unit);
}

// Splits mp x np register tiles over a tm x tn grid of threads so that the busiest thread
// has the least to do. Threads in one grid row pack the same A: that is the `pack` columns
// of extra work that favour few grid columns.
RIDGE_INLINE void gemm_grid(int64_t mp, int64_t np, int mr, int nr, int nthreads, int *tm, int *tn) {
  const int64_t pack = 16;
  int64_t best = INT64_MAX;
  *tm = nthreads, *tn = 1;
  for (int m = nthreads; m >= 1; m--) {
    int n = nthreads / m;
    int64_t cost = (mp + m - 1) / m * mr * ((np + n - 1) / n * nr + pack);
    if (cost < best) best = cost, *tm = m, *tn = n;
  }
}

// Whether threads may take whole products of a batch: each as many, or at least four.
RIDGE_INLINE int gemm_whole(int64_t batch, int nthreads) { return batch > 1 && (batch % nthreads == 0 || batch >= 4 * (int64_t)nthreads); }

// Lines of a matrix still in memory that will be read next, asked for a few at a time while the
// arithmetic goes on: rows of `lines` cache lines, a pitch of bytes apart.
typedef struct gemm_ahead {
  const char *at;
  int64_t pitch, lines, row, line, left, each;
} gemm_ahead;

// Asks for rows x bytes at p within `steps` calls of gemm_ahead_step. L2 keeps them.
RIDGE_INLINE gemm_ahead gemm_ahead_of(const void *p, int64_t pitch, int64_t rows, int64_t bytes, int64_t steps) {
  gemm_ahead a = {p, pitch, (bytes + 63) / 64, 0, 0, 0, 0};
  a.left = rows * a.lines;
  a.each = steps > 0 ? (a.left + steps - 1) / steps : a.left;
  return a;
}

RIDGE_INLINE void gemm_ahead_step(gemm_ahead *a) {
  for (int64_t n = gemm_min(a->each, a->left); n > 0; n--, a->left--) {
    __builtin_prefetch(a->at + a->row * a->pitch + a->line * 64, 0, 2);
    if (++a->line == a->lines) a->line = 0, a->row++;
  }
}

#endif
