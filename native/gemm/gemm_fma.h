// Floating-point GEMM by fused multiply-adds on vectors (template): the register tile is
// MR rows x NV vectors. 16-bit inputs become fp32 while they are packed.
//
// A variant defines GEMM_NAME, GEMM_TARGET, GEMM_S (float or double) or GEMM_HALF (a 16-bit
// format), GEMM_VEC vector bytes, GEMM_MR rows and GEMM_NV vectors of the tile, and the block
// sizes GEMM_MC, GEMM_KC, GEMM_NC.
#include "gemm_common.h"

#define GEMM_PK 1 // elements of K in a unit

#include "gemm_types.h"

#include "gemm_pack.h"
#include "gemm_epilogue.h"
#include "gemm_dots.h"
#include "gemm_dots_tall.h"
// From 5 rows on exact tiles that pack B as they go are faster than sums in L1 or strips, but where GEMM_THIN_SOON says otherwise. Not those of 6 rows, whose copies take address units that
// the multiply-adds need (Zen 3, one thread, of strips' rate: 8x1024x1024 0.70, 16x1024x1024 0.91, 16x4000x4000 0.67, 18x1024x1024 0.94).
#define GEMM_SOON (GEMM_EXACT && (GEMM_MR > 6 || GEMM_NV == 4))
#include "gemm_thin.h"
#include "gemm_strip.h"

// n elements as accumulators.
GEMM_INLINE void GEMM_F(widened)(GEMM_S *to, const GEMM_T *s, int64_t n) {
  enum { L = GEMM_LANES };
  int64_t k = 0;
  for (; k + L <= n; k += L) *(GEMM_F(vecu) *)(to + k) = GEMM_LOADV(s + k);
  if (k == n) return;
  GEMM_T some[L] __attribute__((aligned(64)));
  GEMM_F(some_from)(some, s + k, (n - k) * (int64_t)sizeof(GEMM_T), L * sizeof(GEMM_T));
  const GEMM_F(vec) v = GEMM_LOADV(some);
  GEMM_F(some_to)(to + k, &v, (n - k) * (int64_t)sizeof(GEMM_S), GEMM_VEC);
}

// rows of n elements to t, pitch ldt, as accumulators.
GEMM_INLINE void GEMM_F(convert)(GEMM_S *t, int64_t ldt, const GEMM_T *src, int64_t ld, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; i++, src += ld, t += ldt) GEMM_F(widened)(t, src, n);
}

// w rows of kc elements, pitch ld, to dst[k*w + i].
GEMM_INLINE void GEMM_F(pack_rows)(GEMM_S *dst, const GEMM_T *src, int64_t ld, const int w, int64_t rows, int64_t kc) {
  if (GEMM_SAME) {
    if (sizeof(GEMM_S) == 8)
      GEMM_F(transpose64)((uint64_t *)dst, src, ld * 8, w, rows, kc);
    else
      GEMM_F(transpose32)((uint32_t *)dst, src, ld * 4, w, rows, kc);
    return;
  }
  enum { KB = 64 };
  GEMM_S t[w * (KB + 16)] __attribute__((aligned(64))); // converted rows, a pitch off the powers of two
  for (int64_t k = 0; k < kc; k += KB) {
    int64_t n = gemm_min(KB, kc - k);
    GEMM_F(convert)(t, KB + 16, src + k, ld, rows, n);
    GEMM_F(transpose32)((uint32_t *)(dst + k * w), t, (KB + 16) * 4, w, rows, n);
  }
}

#if GEMM_EXACT
// A panel of as many rows as there are.
GEMM_NOINLINE void GEMM_F(pack_a)(void *dst, const GEMM_T *a, int64_t lda, int64_t rows, int64_t kc) {
#if GEMM_SAME
  if (sizeof(GEMM_S) == 8)
    GEMM_F(turn64)(dst, a, lda * 8, rows, kc);
  else
    GEMM_F(turn32)(dst, a, lda * 4, rows, kc);
#else
  enum { KB = 64 };
  GEMM_S t[GEMM_MR * (KB + 16)] __attribute__((aligned(64))); // as in pack_rows
  for (int64_t k = 0; k < kc; k += KB) {
    int64_t n = gemm_min(KB, kc - k);
    GEMM_F(convert)(t, KB + 16, a + k, lda, rows, n);
    GEMM_F(turn32)((uint32_t *)dst + k * rows, t, (KB + 16) * 4, rows, n);
  }
#endif
}
#else
GEMM_NOINLINE void GEMM_F(pack_a)(void *dst, const GEMM_T *a, int64_t lda, int64_t rows, int64_t kc) {
  GEMM_F(pack_rows)(dst, a, lda, GEMM_MR, rows, kc);
}
#endif

GEMM_NOINLINE void GEMM_F(pack_b)(void *dst, const GEMM_T *b, int64_t ldb, int trans, int64_t cols, int64_t kc) {
  const int64_t panel = kc * GEMM_NR;
  GEMM_S *d = dst;
  if (trans) {
    for (int64_t j = 0; j < cols; j += GEMM_NR, d += panel)
      GEMM_F(pack_rows)(d, b + j * ldb, ldb, GEMM_NR, gemm_min(GEMM_NR, cols - j), kc);
    return;
  }
  // Up to four panels per visit of a row: longer runs for the prefetcher and the TLB.
  for (; cols >= GEMM_NR; ) {
    const int64_t g = gemm_min(4, cols / GEMM_NR);
    for (int64_t k = 0; k < kc; k++)
      for (int64_t p = 0; p < g; p++)
        for (int v = 0; v < GEMM_NV; v++)
          *(GEMM_F(vec) *)(d + p * panel + k * GEMM_NR + v * GEMM_LANES) =
              GEMM_LOADV(b + k * ldb + p * GEMM_NR + v * GEMM_LANES);
    cols -= g * GEMM_NR, b += g * GEMM_NR, d += g * panel;
  }
  if (cols > 0)
    for (int64_t k = 0; k < kc; k++)
      for (int v = 0; v < GEMM_NV; v++) {
        const int64_t n = cols - v * GEMM_LANES;
        GEMM_T some[GEMM_LANES] __attribute__((aligned(64))) = {0};
        const GEMM_T *from = b + k * ldb + v * GEMM_LANES;
        if (n > 0 && n < GEMM_LANES) GEMM_F(some_from)(some, from, n * (int64_t)sizeof(GEMM_T), sizeof some);
        *(GEMM_F(vec) *)(d + k * GEMM_NR + v * GEMM_LANES) = GEMM_LOADV(n < GEMM_LANES ? some : from);
      }
}

#if GEMM_EXACT
#define GEMM_UNIT GEMM_S
#define GEMM_A_HEAD 0
#ifdef GEMM_DOUBLE
#define GEMM_BROADCAST "vbroadcastsd"
#define GEMM_SPREAD "%{1to8%}" // behind an address: the same within another instruction, of 512 bits
#define GEMM_SPREAD_HALF "%{1to4%}" // of 256
#define GEMM_MADD(a, b, s) "vfmadd231pd " b ", " a ", " s
#define GEMM_MADD_OF(a, b, s) "vfmadd231pd " a ", " b ", " s // a may be in memory
#else
#define GEMM_BROADCAST "vbroadcastss"
#define GEMM_SPREAD "%{1to16%}"
#define GEMM_SPREAD_HALF "%{1to8%}"
#define GEMM_MADD(a, b, s) "vfmadd231ps " b ", " a ", " s
#define GEMM_MADD_OF(a, b, s) "vfmadd231ps " a ", " b ", " s
#endif
GEMM_INLINE void GEMM_F(madd)(GEMM_F(vec) *s, GEMM_S a, const GEMM_F(vec) *b) { *s = a * *b + *s; }
GEMM_INLINE void GEMM_F(fresh_row)(GEMM_F(vec) *v, const GEMM_T *b, int64_t ldb) {
  (void)ldb;
  RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) v[j] = GEMM_LOADV(b + j * GEMM_LANES);
}
GEMM_INLINE void GEMM_F(beside_row)(GEMM_F(vec) *v, const GEMM_T *b, int64_t ldb) { GEMM_F(fresh_row)(v, b, ldb); }
#include "gemm_exact.h"
#else
// c[MR x NR] = a * b (+ c when add): GEMM_MR * GEMM_NV accumulators stay in registers. With an end the sums go through
// it instead of to c.
GEMM_NOINLINE void GEMM_F(tile)(int64_t kc, const void *ap, const void *bp, GEMM_S *c, int64_t ldc, int add, const GEMM_F(end) *end) {
  typedef GEMM_F(vec) V;
  const GEMM_S *a = ap, *b = bp;
  V s[GEMM_MR][GEMM_NV];
  RIDGE_UNROLL(32) for (int i = 0; i < GEMM_MR; i++) {
    RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) s[i][j] = (V){0};
    __builtin_prefetch(c + i * ldc, 1);
  }
  RIDGE_UNROLL(4) for (int64_t k = 0; k < kc; k++, a += GEMM_MR, b += GEMM_NR) {
    V bv[GEMM_NV];
    RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) bv[j] = *(const V *)(b + j * GEMM_LANES);
    RIDGE_UNROLL(32) for (int i = 0; i < GEMM_MR; i++) {
      RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) s[i][j] = a[i] * bv[j] + s[i][j];
    }
  }
  GEMM_F(tile_end)(&s[0][0], GEMM_MR, GEMM_NV, c, ldc, add, end);
}

#if GEMM_SAME && !defined(GEMM_TILE_ALONE)
// Tiles of every height, for B packed beforehand: no row is padded there, so that few rows are bound by memory. ahead: a panel's first
// tile of three rows or more asks for lines of B so many bytes on; the others find the panel in L1. Of AVX2's tile, before exact ones, on Zen 3, one thread, GFLOP/s, with
// 1, 2 and 4 KiB and without: 4x4096x4096 43.6, 39.8, 36.4, 39.1; 16x4096x4096 80.6, 80.7, 78.2, 74.1; 1x4096x4096 9.2, 9.9, 10.3, 12.1.
#define GEMM_HEIGHTS
#define GEMM_AHEAD 1024
GEMM_INLINE void GEMM_F(low)(const int m, const int ahead, int64_t kc, const void *ap, const void *bp, GEMM_S *c, int64_t ldc, int add,
                             const GEMM_F(end) *end) {
  typedef GEMM_F(vec) V;
  const GEMM_S *a = ap, *b = bp;
  V s[GEMM_MR * GEMM_NV];
  RIDGE_UNROLL(32) for (int i = 0; i < m; i++) {
    RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) s[i * GEMM_NV + j] = (V){0};
    __builtin_prefetch(c + i * ldc, 1);
  }
  RIDGE_UNROLL(4) for (int64_t k = 0; k < kc; k++, a += GEMM_MR, b += GEMM_NR) {
    V bv[GEMM_NV];
    if (ahead) __builtin_prefetch((const char *)b + GEMM_AHEAD);
    RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) bv[j] = *(const V *)(b + j * GEMM_LANES);
    RIDGE_UNROLL(32) for (int i = 0; i < m; i++) {
      RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) s[i * GEMM_NV + j] = a[i] * bv[j] + s[i * GEMM_NV + j];
    }
  }
  GEMM_F(tile_end)(s, m, GEMM_NV, c, ldc, add, end);
}
typedef void (*GEMM_F(low_fn))(int64_t kc, const void *a, const void *b, GEMM_S *c, int64_t ldc, int add, const GEMM_F(end) *end);
#define GEMM_LOW(m)                                                                                                                    \
  GEMM_NOINLINE void GEMM_F(near_##m)(int64_t kc, const void *a, const void *b, GEMM_S *c, int64_t ldc, int add, const GEMM_F(end) *end) { \
    GEMM_F(low)(m, 0, kc, a, b, c, ldc, add, end);                                                                                     \
  }                                                                                                                                    \
  GEMM_NOINLINE void GEMM_F(far_##m)(int64_t kc, const void *a, const void *b, GEMM_S *c, int64_t ldc, int add, const GEMM_F(end) *end) {  \
    GEMM_F(low)(m, 1, kc, a, b, c, ldc, add, end);                                                                                     \
  }
#if GEMM_MR != 8
#error "the heights are those of 8 rows"
#endif
#define GEMM_LOWS(f) {NULL, GEMM_F(f##_1), GEMM_F(f##_2), GEMM_F(f##_3), GEMM_F(f##_4), GEMM_F(f##_5), GEMM_F(f##_6), GEMM_F(f##_7), GEMM_F(f##_8)}
GEMM_LOW(1) GEMM_LOW(2) GEMM_LOW(3) GEMM_LOW(4) GEMM_LOW(5) GEMM_LOW(6) GEMM_LOW(7) GEMM_LOW(8)
static const GEMM_F(low_fn) GEMM_F(lows)[2][GEMM_MR + 1] = {GEMM_LOWS(near), GEMM_LOWS(far)};
#undef GEMM_LOW
#undef GEMM_LOWS
#endif
#endif

#ifdef GEMM_TILE_ALONE // what loop_test.go looks at
#if GEMM_EXACT
void *GEMM_F(alone)(int fresh) { return fresh ? fresh > 1 ? GEMM_EXACT_TOP(beside) : GEMM_EXACT_TOP(fresh) : GEMM_EXACT_TOP(tile); }
#else
void *GEMM_F(alone)(void) { return GEMM_F(tile); }
#endif
#else
#if !defined(GEMM_NO_ACT) && (!defined(GEMM_HALF) || GEMM_HALF == GEMM_IS_BF16)
#define GEMM_LAYERS
#endif
#include "gemm_batch.h"
#include "gemm_driver.h"
#include "gemm_small.h"
#include "gemm_cross.h"
#include "gemm_small_way.h"
#include "gemm_panels.h"
#ifdef GEMM_LAYERS
#include "gemm_layers.h"
#endif

RIDGE_INLINE int GEMM_F(one)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  if (g->packing) return GEMM_F(run)(g, ctx);
  if (GEMM_IS_THIN(g)) return GEMM_F(thin)(g, ctx);
#ifdef GEMM_TALL
  if (GEMM_F(is_tall)(g)) return GEMM_F(run)(g, ctx);
#endif
  if (!GEMM_SOON && g->M <= GEMM_STRIP_MAX && !g->trans_b) {
    int64_t from, to;
    ridge_share(g->N, GEMM_NR, ctx->tid, ctx->nthreads, &from, &to);
    GEMM_F(strips)(g, from, to);
    return RIDGE_OK;
  }
  return GEMM_F(run)(g, ctx);
}

GEMM_NOINLINE int GEMM_F(any)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
#ifdef GEMM_LAYERS
  if (g->layers) return GEMM_F(layers)(g, ctx);
#endif
#if GEMM_SAME && GEMM_EXACT
  if (GEMM_F(is_panels)(g)) return GEMM_F(run_panels)(g, ctx);
#endif
  if (GEMM_F(is_small)(g, ctx->nthreads)) return GEMM_F(small)(g, ctx);
  if (g->batch <= 1) return GEMM_F(one)(g, ctx);
  GEMM_BATCH(g, ctx, GEMM_F(batch_slice)(g, ctx->nthreads), GEMM_F(one));
}

GEMM_NOINLINE int GEMM_F(all)(const void *args, const ridge_ctx *ctx) {
  ridge_gemm_args room;
  const ridge_gemm_args *g = GEMM_F(upright)(args, &room);
#if GEMM_SAME
  if (ctx->nthreads == 1 && GEMM_F(bare)(g) && !GEMM_F(is_panels)(g) && GEMM_F(is_small)(g, 1)) {
    GEMM_F(small_direct)(g, 0, (int32_t)g->M, 0, (int32_t)g->N);
    return RIDGE_OK;
  }
#endif
  return GEMM_F(any)(g, ctx);
}

// What a single tile does is asked for first, by a function that keeps nothing on the stack: 5x7x9 is 27 cycles of multiply-adds.
int GEMM_PASTE(ridge, GEMM_NAME)(const void *args, const ridge_ctx *ctx) {
#if GEMM_SAME
  if (GEMM_F(bare)(args)) {
    const GEMM_F(one_fn) only = GEMM_F(only_tile)(args, ctx->nthreads);
    if (only) return ctx->tid == 0 ? only(args) : RIDGE_OK;
  }
#endif
  return GEMM_F(all)(args, ctx);
}
#endif

#include "gemm_undef.h"
