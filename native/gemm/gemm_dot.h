// GEMM on dot-product instructions and tiles (template). A and B are packed in 32-bit units
// that hold neighbouring values of K (four 8-bit or two 16-bit numbers), because that is what
// one lane of such an instruction multiplies and adds.
//
// A variant defines GEMM_NAME, GEMM_MLP (bf16: the mlp's own name), GEMM_TARGET, GEMM_KIND, GEMM_A_SIGNED for integers (A int8 or
// uint8), the block sizes, and for vectors GEMM_VEC, GEMM_MR, GEMM_NV.
//   GEMM_MADD256   int8 widened to int16 while packing, vpmaddwd: exact, unlike vpmaddubsw
//   GEMM_VNNI256/512  vpdpbusd, u8 x s8
//   GEMM_SDOT      sdot, s8 x s8;  GEMM_USDOT usdot, u8 x s8
//   GEMM_BF512     vdpbf16ps;  GEMM_FP512 vfmadd231ph, short sums in fp16 (gemm_chain.h)
//   GEMM_AMX_BF16/FP16/INT8  tiles (gemm_amx.h)
// Where the instruction has the other signedness of A, packing flips A's top bit (A + 128 or
// A - 128 in the other format) and every accumulator starts at -+128 times the column's sum
// of B: exact modulo 2^32. Integers use unsigned arithmetic, which wraps as the hardware's.
#include "gemm_common.h"

#ifndef GEMM_LYING
#define GEMM_LYING 0
#endif
#ifndef GEMM_EXACT
#define GEMM_EXACT 0
#endif

#if GEMM_KIND >= GEMM_BF512
#define GEMM_FLOAT 1
#else
#define GEMM_FLOAT 0
#endif
#if GEMM_KIND == GEMM_AMX_BF16 || GEMM_KIND == GEMM_AMX_FP16 || GEMM_KIND == GEMM_AMX_INT8
#define GEMM_TILES 1
#define GEMM_VEC 64
#define GEMM_MR 32
#define GEMM_NR 32
#define GEMM_KU (16 * GEMM_PK) // 64 bytes: a tile's row
#else
#define GEMM_TILES 0
#define GEMM_NR (GEMM_NV * GEMM_LANES)
#define GEMM_KU GEMM_PK
#endif
#define GEMM_LANES (GEMM_VEC / 4)

#if GEMM_KIND == GEMM_AMX_FP16 || GEMM_KIND == GEMM_FP512
#define GEMM_HALF GEMM_IS_FP16
#elif GEMM_FLOAT
#define GEMM_HALF GEMM_IS_BF16
#endif
#if GEMM_FLOAT
#define GEMM_A_SIGNED 0
#define GEMM_S float
#define GEMM_TA uint16_t
#define GEMM_TB uint16_t
#define GEMM_TC uint16_t
#define GEMM_PK 2 // elements of K in a unit
#define GEMM_C_IS_S 0
#else
#define GEMM_S uint32_t
#if GEMM_A_SIGNED
#define GEMM_TA int8_t
#else
#define GEMM_TA uint8_t
#endif
#define GEMM_TB int8_t
#define GEMM_TC uint32_t
#define GEMM_C_IS_S 1
#define GEMM_NO_ACT
#define GEMM_REQUANT
#define GEMM_LOADS(x) (x)
#define GEMM_STORES(x) (x)
#if GEMM_KIND == GEMM_MADD256
#define GEMM_PK 2
#else
#define GEMM_PK 4
#endif
#endif

// The factor of the column sums, 0 for none.
#if GEMM_EXACT // B is flipped instead: gemm_dot_exact.h
#define GEMM_FLIP 0
#elif (GEMM_KIND == GEMM_VNNI256 || GEMM_KIND == GEMM_VNNI512) && GEMM_A_SIGNED
#define GEMM_FLIP -128
#elif GEMM_KIND == GEMM_SDOT && !GEMM_A_SIGNED
#define GEMM_FLIP 128
#else
#define GEMM_FLIP 0
#endif

typedef GEMM_S GEMM_F(vec) __attribute__((vector_size(GEMM_VEC), may_alias));
typedef GEMM_S GEMM_F(vecu) __attribute__((vector_size(GEMM_VEC), aligned(1), may_alias));
#if GEMM_FLOAT
#include "gemm_half.h"
#endif

#define GEMM_HEAD (GEMM_FLIP ? GEMM_NR * 4 : 0) // bytes of column sums before a panel of B
#if GEMM_EXACT
#define GEMM_A_PANEL(kc) gemm_ceil((kc) / GEMM_PK * GEMM_MR * 4 + 64 + 64, 64) // row sums before, turn32 writes beyond
#else
#define GEMM_A_PANEL(kc) gemm_ceil((kc) / GEMM_PK * GEMM_MR * 4, 64)
#endif
#define GEMM_B_PANEL(kc) gemm_ceil((kc) / GEMM_PK * GEMM_NR * 4 + GEMM_HEAD, 64)

#include "gemm_pack.h"
#include "gemm_epilogue.h"

#if !GEMM_TILES && GEMM_KIND != GEMM_FP512 && !(GEMM_KIND == GEMM_SDOT && !GEMM_A_SIGNED) // sdot has no u8, and would need the sums of B's columns
#include "gemm_dots.h"
#endif

typedef uint8_t GEMM_F(b16) __attribute__((vector_size(16), may_alias));
typedef uint16_t GEMM_F(h8) __attribute__((vector_size(16), may_alias));
typedef int8_t GEMM_F(s16) __attribute__((vector_size(16), may_alias));
typedef int16_t GEMM_F(w16) __attribute__((vector_size(32), aligned(1), may_alias));

// n elements of one row as units, the last one padded with zeros.
#define GEMM_STAGE(T)                                                             \
  do {                                                                            \
    const T *s = src;                                                             \
    if (GEMM_KIND == GEMM_MADD256) {                                              \
      int16_t *o = (int16_t *)dst;                                                \
      for (int64_t k = 0; k < n; k++) o[k] = s[k];                                \
      if (n & 1) o[n] = 0;                                                        \
    } else {                                                                      \
      memcpy(dst, s, (size_t)n * sizeof(T));                                      \
      memset((char *)dst + n * sizeof(T), 0, (size_t)(-n & (GEMM_PK - 1)) * sizeof(T)); \
    }                                                                             \
  } while (0)
GEMM_INLINE void GEMM_F(stage_a)(uint32_t *dst, const void *src, int64_t n) { GEMM_STAGE(GEMM_TA); }
GEMM_INLINE void GEMM_F(stage_b)(uint32_t *dst, const void *src, int64_t n) { GEMM_STAGE(GEMM_TB); }

// Where column j of a panel lies in it.
#if GEMM_KIND == GEMM_FP512 // as unpacking 16-bit numbers of two vectors leaves them: of each eight columns four in either vector
#define GEMM_COL(j) (((j) & 4) * 4 + (j) / 8 * 4 + ((j) & 3))
#else
#define GEMM_COL(j) (j)
#endif

// w rows of kc elements (rows of them present) to dst[unit*w + row]; columns of B where they lie in a panel.
#define GEMM_PACK_ROWS(w, src, T, stage)                                                    \
  do {                                                                                      \
    enum { KB = 64, PITCH = KB + 16 }; /* units; a pitch off the powers of two */           \
    uint32_t t[(w) * PITCH] __attribute__((aligned(64)));                                   \
    const int64_t there = GEMM_COL(1) + GEMM_COL(4) == 5 ? rows : (w); /* elsewhere missing ones lie in between */ \
    if (there > rows) memset(t, 0, sizeof t);                                               \
    for (int64_t k = 0; k < kc; k += KB * GEMM_PK) {                                        \
      int64_t n = gemm_min(KB * GEMM_PK, kc - k);                                           \
      for (int i = 0; i < rows; i++) stage(t + GEMM_COL(i) * PITCH, (src) + i * ld + k, n); \
      GEMM_F(transpose32)(dst + k / GEMM_PK * (w), t, PITCH * 4, w, there, (n + GEMM_PK - 1) / GEMM_PK); \
    }                                                                                       \
    for (int64_t u = (kc + GEMM_PK - 1) / GEMM_PK * (w); u < units * (w); u++) dst[u] = 0;  \
  } while (0)

GEMM_INLINE void GEMM_F(pack_cols)(uint32_t *dst, const GEMM_TB *b, int64_t ld, int64_t rows, int64_t kc, int64_t units) {
  GEMM_PACK_ROWS(GEMM_NR, b, GEMM_TB, GEMM_F(stage_b));
}

// Unit row u of a panel from GEMM_PK rows of B[K,N], all NR columns present.
GEMM_INLINE void GEMM_F(interleave)(uint32_t *dst, const GEMM_TB *b, int64_t ld) {
#if GEMM_FLOAT
  for (int j = 0; j < GEMM_NR; j += 4) {
    GEMM_F(q2) r = {*(const GEMM_F(q1) *)(b + j), *(const GEMM_F(q1) *)(b + ld + j)};
    *(GEMM_F(h8) *)(dst + j) = __builtin_shufflevector((GEMM_F(h8))r, (GEMM_F(h8))r, 0, 4, 1, 5, 2, 6, 3, 7);
  }
#elif GEMM_KIND == GEMM_MADD256
  for (int j = 0; j < GEMM_NR; j += 8) {
    GEMM_F(q2) r = {*(const GEMM_F(q1) *)(b + j), *(const GEMM_F(q1) *)(b + ld + j)};
    GEMM_F(s16) x = (GEMM_F(s16))r;
    x = __builtin_shufflevector(x, x, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    *(GEMM_F(w16) *)(dst + j) = (GEMM_F(w16))_mm256_cvtepi8_epi16((__m128i)x);
  }
#else
  for (int j = 0; j < GEMM_NR; j += 4) {
    GEMM_F(u4) r = {*(const GEMM_F(u1) *)(b + j), *(const GEMM_F(u1) *)(b + ld + j), *(const GEMM_F(u1) *)(b + 2 * ld + j),
                    *(const GEMM_F(u1) *)(b + 3 * ld + j)};
    GEMM_F(b16) x = (GEMM_F(b16))r;
    *(GEMM_F(b16) *)(dst + j) = __builtin_shufflevector(x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  }
#endif
}

// The same of w columns, with missing columns or rows of K as zeros.
GEMM_INLINE void GEMM_F(interleave_edge)(uint32_t *dst, const GEMM_TB *b, int64_t ld, int64_t w, int64_t cols, int64_t ks) {
  for (int64_t j = 0; j < w; j++) {
    uint32_t u = 0;
    if (j < cols)
      for (int q = 0; q < GEMM_PK && q < ks; q++)
        u |= ((uint32_t)b[q * ld + j] & (0xffffffffu >> (32 - 32 / GEMM_PK))) << q * (32 / GEMM_PK);
    dst[GEMM_COL(j)] = GEMM_EXACT && GEMM_A_SIGNED ? u ^ 0x80808080u : u;
  }
}

#if GEMM_TILES
#include "gemm_amx.h"
#else
#include "gemm_dot_tile.h"
#endif
#ifndef GEMM_FLIP_B
#define GEMM_FLIP_B 0
#endif

#ifdef GEMM_TILE_ALONE // what loop_test.go looks at
#if GEMM_EXACT
void *GEMM_F(alone)(int fresh) { return fresh ? fresh > 1 ? GEMM_F(beside_14) : GEMM_F(fresh_14) : GEMM_F(tile_14); }
#else
void *GEMM_F(alone)(void) { return GEMM_F(tile); }
#endif
#else
#if GEMM_TILES
#include "gemm_tiles_pack.h"
#else
GEMM_NOINLINE void GEMM_F(pack_b)(void *to, const GEMM_TB *b, int64_t ldb, int trans, int64_t cols, int64_t kc) {
  const int64_t units = gemm_ceil(kc, GEMM_KU) / GEMM_PK;
  char *p = to;
  for (; cols > 0; cols -= GEMM_NR, p += GEMM_B_PANEL(units * GEMM_PK)) {
    uint32_t *dst = (uint32_t *)(p + GEMM_HEAD);
    if (trans) {
      GEMM_F(pack_cols)(dst, b, ldb, gemm_min(GEMM_NR, cols), kc, units);
      if (GEMM_FLIP_B)
        for (int64_t u = 0; u < units * GEMM_NR; u++) dst[u] ^= 0x80808080u;
      b += GEMM_NR * ldb;
    } else {
      for (int64_t u = 0; u < units; u++) {
        const int64_t k = u * GEMM_PK;
        if (cols >= GEMM_NR && k + GEMM_PK <= kc) {
#if GEMM_EXACT
          GEMM_F(fresh_row)((GEMM_F(vec) *)(dst + u * GEMM_NR), b + k * ldb, ldb);
#else
          GEMM_F(interleave)(dst + u * GEMM_NR, b + k * ldb, ldb);
#endif
        } else
          GEMM_F(interleave_edge)(dst + u * GEMM_NR, b + k * ldb, ldb, GEMM_NR, cols, kc - k);
      }
      b += GEMM_NR;
    }
#if GEMM_FLIP
    GEMM_F(column_sums)(p, units);
#endif
  }
}

#endif

#if GEMM_FLOAT && GEMM_HALF == GEMM_IS_BF16
#define GEMM_LAYERS
#endif
#if GEMM_EXACT && GEMM_KIND == GEMM_VNNI512
#include "gemm_dot_narrow.h"
#endif
#include "gemm_batch.h"
#include "gemm_driver.h"
#ifdef GEMM_LAYERS
#include "gemm_layers.h"
#endif

int GEMM_PASTE(ridge, GEMM_NAME)(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *g = args;
#ifdef GEMM_LAYERS
  if (g->layers) return GEMM_F(layers)(g, ctx);
#endif
  if (g->batch <= 1) return GEMM_F(run)(g, ctx);
  GEMM_BATCH(g, ctx, GEMM_F(batch_slice)(g, ctx->nthreads), GEMM_F(run));
}
#ifdef GEMM_LAYERS
int GEMM_PASTE(ridge, GEMM_MLP)(const void *args, const ridge_ctx *ctx) { return GEMM_F(layers)(args, ctx); }
#endif
#endif

#undef TILE_DOT
#undef GEMM_FLOAT
#undef GEMM_PK
#undef GEMM_HEAD
#undef GEMM_STAGE
#undef GEMM_PACK_ROWS
#undef GEMM_FLIP_B
#undef GEMM_COL
#undef GEMM_KIND
#undef GEMM_A_SIGNED
#include "gemm_undef.h"
