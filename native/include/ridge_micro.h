// Register-tile multiplication for kernels that bring their own packing (conv, attention):
//
//   c[mr, nv*VL] (+)= a[mr, kc] * b[kc, nv*VL]
//
// a: mr rows, lda apart, read one element at a time and broadcast: rows need no packing when
// the reduction runs along them (filters, queries, softmax weights). b: a packed panel, one
// row of NR = NV*VL elements per k, 64-byte aligned where its owner aligns it. c: rows ldc apart.
//
// The includer defines before including, once per file:
//   RIDGE_VL, RIDGE_VT  as ridge_vector.h says
//   RIDGE_MR      rows of the full tile, at most 8
//   RIDGE_NV      vectors of the full tile, at most 3
//   RIDGE_MODEL   (optional) one instance for all tile sizes, loops left rolled
//   RIDGE_MICRO_INT  (optional) elements are int32 that hold two int16; products are of pairs;
//                 the includer gives RIDGE_DOT2(acc, b, a) over ridge_vi
//
// Floor on AVX2 (6x16): per k 12 FMA, 2 loads, 6 broadcasts = 6 cycles at two FMA a cycle, 12 of
// 16 registers hold the tile. AVX-512 (8x48): 24 FMA, 3 loads, 8 broadcasts (which fold into no
// FMA because each serves three), 24 of 32 registers. NEON (8x12): 24 FMA by element, 3 loads, 8
// scalar loads, 24 of 32 registers. Fewer rows than MR and fewer vectors than NV have instances
// of their own; ridge_micro_rows keeps their rows high enough to hide the FMA's latency.
// Source of the tile shapes: Goto and van de Geijn 2008; BLIS for rows left unpacked.
#ifndef RIDGE_MICRO_H
#define RIDGE_MICRO_H

#include "ridge_vector.h"

#define RIDGE_NR (RIDGE_NV * RIDGE_VL)

#ifdef RIDGE_MICRO_INT
typedef int32_t ridge_me; // element
typedef ridge_vi ridge_mv;
typedef ridge_vi_any ridge_mv_any;
#else
typedef float ridge_me;
typedef ridge_vf ridge_mv;
typedef ridge_vf_any ridge_mv_any;
#endif

RIDGE_INLINE RIDGE_VT void ridge_micro_tile(const int mr, const int nv, int64_t kc, const ridge_me *a, int64_t lda,
                                            const ridge_me *b, ridge_me *c, int64_t ldc, int add) {
  ridge_mv acc[RIDGE_MR][RIDGE_NV];
  const ridge_me *ar[RIDGE_MR];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) ar[i] = a + i * lda;
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) acc[i][v] = (ridge_mv){0};
  }
  for (int64_t k = 0; k < kc; k++) {
    ridge_mv bv[RIDGE_NV];
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) bv[v] = *(const ridge_mv_any *)(b + k * RIDGE_NR + v * RIDGE_VL);
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      ridge_me x = ar[i][k];
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) {
#ifdef RIDGE_MICRO_INT
        acc[i][v] = RIDGE_DOT2(acc[i][v], bv[v], (ridge_mv){0} + x);
#else
        acc[i][v] += x * bv[v];
#endif
      }
    }
  }
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) {
      // Added at the end, not started from: a block's chain of roundings then begins at zero.
      if (add) acc[i][v] += *(const ridge_mv_any *)(c + i * ldc + v * RIDGE_VL);
      *(ridge_mv_any *)(c + i * ldc + v * RIDGE_VL) = acc[i][v];
    }
  }
}

#if defined(RIDGE_MODEL)
// A model needs the logic, not an unrolled instance of each size.
__attribute__((noinline)) static void ridge_micro(int64_t mr, int64_t nv, int64_t kc, const ridge_me *a, int64_t lda,
                                                  const ridge_me *b, ridge_me *c, int64_t ldc, int add) {
  ridge_micro_tile((int)mr, (int)nv, kc, a, lda, b, c, ldc, add);
}
#else
typedef void (*ridge_micro_fn)(int64_t kc, const ridge_me *a, int64_t lda, const ridge_me *b, ridge_me *c, int64_t ldc,
                               int add);

#define RIDGE_MICRO_ONE(mr, nv)                                                                        \
  __attribute__((noinline)) RIDGE_VT static void ridge_micro_##mr##_##nv(                              \
      int64_t kc, const ridge_me *a, int64_t lda, const ridge_me *b, ridge_me *c, int64_t ldc, int add) { \
    ridge_micro_tile(mr, nv, kc, a, lda, b, c, ldc, add);                                              \
  }
#if RIDGE_NV == 3
#define RIDGE_MICRO_ROW(mr) RIDGE_MICRO_ONE(mr, 1) RIDGE_MICRO_ONE(mr, 2) RIDGE_MICRO_ONE(mr, 3)
#define RIDGE_MICRO_NAMES(mr) {ridge_micro_##mr##_1, ridge_micro_##mr##_2, ridge_micro_##mr##_3}
#elif RIDGE_NV == 2
#define RIDGE_MICRO_ROW(mr) RIDGE_MICRO_ONE(mr, 1) RIDGE_MICRO_ONE(mr, 2)
#define RIDGE_MICRO_NAMES(mr) {ridge_micro_##mr##_1, ridge_micro_##mr##_2}
#endif
RIDGE_MICRO_ROW(1) RIDGE_MICRO_ROW(2) RIDGE_MICRO_ROW(3) RIDGE_MICRO_ROW(4) RIDGE_MICRO_ROW(5) RIDGE_MICRO_ROW(6)
#if RIDGE_MR == 8
RIDGE_MICRO_ROW(7) RIDGE_MICRO_ROW(8)
#endif

static const ridge_micro_fn ridge_micro_table[RIDGE_MR][RIDGE_NV] = {
    RIDGE_MICRO_NAMES(1), RIDGE_MICRO_NAMES(2), RIDGE_MICRO_NAMES(3),
    RIDGE_MICRO_NAMES(4), RIDGE_MICRO_NAMES(5), RIDGE_MICRO_NAMES(6),
#if RIDGE_MR == 8
    RIDGE_MICRO_NAMES(7), RIDGE_MICRO_NAMES(8),
#endif
};

RIDGE_INLINE void ridge_micro(int64_t mr, int64_t nv, int64_t kc, const ridge_me *a, int64_t lda, const ridge_me *b,
                              ridge_me *c, int64_t ldc, int add) {
  ridge_micro_table[mr - 1][nv - 1](kc, a, lda, b, c, ldc, add);
}
#endif

// Rows of the next tile when left rows remain: MR, but the last two tiles share what a tile
// of one or two rows would leave (4 + 4 rows instead of 6 + 2: as fast per row as full ones).
RIDGE_INLINE int64_t ridge_micro_rows(int64_t left) {
  if (left <= RIDGE_MR) return left;
  if (left < RIDGE_MR + RIDGE_MR / 2) return (left + 1) / 2;
  return RIDGE_MR;
}

#endif
