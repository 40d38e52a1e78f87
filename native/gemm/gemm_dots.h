// A few rows of A against B stored [N,K] (template, after gemm_epilogue.h): the rows of B are read once where they lie, in vectors along K,
// and nothing of them is packed or turned. Every lane of a sum adds products of its own values of K; the lanes are added behind the loop.
//
//   each thread, for its columns of C by 12, for blocks of K (the rows of A of a tile in half of L1), for tiles of up to 6 rows:
//     3 or 4 columns at a time; vectors of sums wait in L1 for the next block
//
// A tile of h x w has h*w multiply-adds and h + w loads a step: 6x4 24 and 10 of them in 29 of 32 registers, 4x3 12 and 7 in 16 of 16. A core
// with one 512-bit multiply-add and one such load a cycle (Zen 4) is bound by the former. Up to 3 rows meet one column at a time with four
// vectors of it in flight: they are bound by the memory B comes from, which is read fastest in one run.
//
// A is copied as the tiles read it, vector by vector and row by row, in the accumulator's type or as it is multiplied: widened 16-bit values are widened once, bytes have
// their sums taken (below), the last part of a vector is filled with zeros. Of a B that ends within a vector the last whole vector is read, without the lanes that were there before.
//
// bf16 that is widened goes by whole vectors of B, whose elements at even and at odd places become two of fp32 by a shift and a mask; A's lie in the same order. So a line of B takes
// two instructions beside its multiply-adds, where widening in order takes four (Emerald Rapids, one thread: 1 to 3 rows 1.36, 1.37 and 1.23 times as fast, 4 to 64 rows 1.12 to 1.19).
//
// Macros besides those of gemm_epilogue.h: GEMM_PK elements in a lane; GEMM_TA, GEMM_TB; for PK > 1 GEMM_KIND and GEMM_A_SIGNED.
// vpdpbusd multiplies u8 by s8: for s8 x s8 B gets its top bit flipped, B + 128, and 128 times the sum of A's row is taken away.
//
// Zen 4, of the time of packing: 4 rows of fp32 0.36, bf16 0.21, int8 0.18; 64 rows 0.95, 0.65, 0.63. Versions and what each gained: docs/kernels/gemm.md.

#if GEMM_VEC == 32
#define GEMM_DOTS_MAX 24  // rows up to which this is faster than packing B
#else
#define GEMM_DOTS_MAX 64
#endif
// K so short for so many rows that adding lanes costs more than packing. Zen 4, bf16, of the rate of dot products: 16x64x32 1.45, 32x64x64 1.30, 48x64x128 1.09, 64x64x32 2.4,
// 64x64x64 1.57, 64x64x128 1.16, 64x512x64 1.54; beyond the limit 8x64x32 1.11, 32x64x128 0.99, 16x64x128 0.78, 64x64x256 1.00. fp32 and bytes were not looked at.
#define GEMM_DOTS_SHORT(g) (GEMM_PK == 2 && GEMM_EXACT && GEMM_VEC == 64 && (g)->M >= 8 && 2 * (g)->K <= 7 * (g)->M)
#define GEMM_DOTS_BLOCK (32 / GEMM_DOTS_U) // vectors of K in a block
#define GEMM_DOTS_ROWS (GEMM_VEC == 32 ? 4 : 6) // of the highest tile
#define GEMM_DOTS_COLS 12 // columns that all tiles meet one after another
#define GEMM_DOTS_SUMS 4096 // sums of M rows that are kept before the end of the product takes them
#define GEMM_DOTS_FAR (2 << 20) // bytes of B that a thread does not keep in L2
#define GEMM_DOTS_MEMORY (18ll << 20) // and from which on all threads' parts come from memory
// Whether tiles ask for rows of B of K elements, and up to which bytes of B for none. Emerald Rapids, of the rate with asking: rows of 4 KiB and more, int8 4 to 64 x
// 4096x4096 1.06 to 1.17, bf16 1.03 to 1.09; of 2 KiB 0.94 to 1.0, of less 0.75 to 0.80 (4x4096x512), but in L2 1.07 to 1.11 (int8 8x1024x1024, 4x1000x300).
#ifdef GEMM_COVE
#define GEMM_DOTS_ASKS(K) ((K) * (int64_t)sizeof(GEMM_TB) <= 2048)
#define GEMM_DOTS_NEAR (1 << 20)
#else
#define GEMM_DOTS_ASKS(K) 1
#define GEMM_DOTS_NEAR 0
#endif
#if GEMM_PK == 1 && defined(GEMM_HALF) && GEMM_HALF == GEMM_IS_BF16
#define GEMM_DOTS_U 2 // vectors to multiply that a vector of B gives: of its even and of its odd elements
#else
#define GEMM_DOTS_U 1
#endif
enum { GEMM_F(DOTS_E) = GEMM_LANES * GEMM_PK * GEMM_DOTS_U }; // elements of K in a vector of B

#if GEMM_PK == 1
#define GEMM_DOTS_FLIP 0
#else
#define GEMM_DOTS_FLIP ((GEMM_KIND == GEMM_VNNI256 || GEMM_KIND == GEMM_VNNI512) && GEMM_A_SIGNED)
#endif

typedef uint8_t GEMM_F(bytes) __attribute__((vector_size(GEMM_VEC), may_alias));

typedef struct GEMM_F(dots) {
  int64_t M, K;
  const char *a;          // rows of A: of each block of K, of each tile, vectors of its rows side by side (DOTS_U times: even, odd elements)
  int64_t high;           // vectors of a for each of K
  const GEMM_F(vec) *end; // behind them what is left of each row
  const GEMM_S *fix;      // what the sums of each row begin with, or NULL
  int64_t ahead;          // bytes that one to three rows ask ahead of what they read of B, or 0
  int asks;               // tiles ask for the rows of B that come next
  int beside;             // one to three rows read several columns of B side by side
} GEMM_F(dots);

// Vectors that lie whole in n elements of K.
#define GEMM_DOTS_WHOLE(n) ((n) / GEMM_F(DOTS_E))
// Rows of tile t, all tiles about equal, and the first of them.
RIDGE_INLINE int GEMM_F(dots_tile_at)(int64_t rows, int64_t t, int64_t *i) {
  const int64_t tiles = (rows + GEMM_DOTS_ROWS - 1) / GEMM_DOTS_ROWS, base = rows / tiles, more = rows % tiles;
  *i = t * base + gemm_min(t, more);
  return (int)(base + (t < more));
}

// Bytes of the copy of M rows.
RIDGE_INLINE int64_t GEMM_F(dots_bytes)(int64_t M, int64_t K) {
  const int64_t rows = (M + GEMM_DOTS_ROWS - 1) / GEMM_DOTS_ROWS * GEMM_DOTS_ROWS;
  return ridge_apart(rows * ((GEMM_DOTS_WHOLE(K) + 1) * GEMM_DOTS_U * GEMM_VEC + (int64_t)sizeof(GEMM_S)));
}

#if GEMM_DOTS_U == 2
typedef uint32_t GEMM_F(pairs) __attribute__((vector_size(GEMM_VEC), may_alias));
typedef uint32_t GEMM_F(pairsu) __attribute__((vector_size(GEMM_VEC), aligned(1), may_alias));
// Keeps such a vector in its register: with A from L1 and two loads a cycle it is not to be read twice (one to three rows: 1.16 as fast as widening in
// order if it is, 1.36 if not).
#if defined(GEMM_MODEL)
#define GEMM_DOTS_HELD(x) (void)0
#elif defined(__aarch64__)
#define GEMM_DOTS_HELD(x) __asm__("" : "+w"(x))
#else
#define GEMM_DOTS_HELD(x) __asm__("" : "+v"(x))
#endif
// The even and the odd elements of two vectors of fp32.
#if GEMM_VEC == 64
#define GEMM_DOTS_EVEN(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define GEMM_DOTS_ODD(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#elif GEMM_VEC == 32
#define GEMM_DOTS_EVEN(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14)
#define GEMM_DOTS_ODD(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define GEMM_DOTS_EVEN(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6)
#define GEMM_DOTS_ODD(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7)
#endif
// The even (u 0) or odd elements of a vector of bf16.
#define GEMM_DOTS_OF(x, u) ((u) ? (GEMM_F(vec))((x) & 0xffff0000u) : (GEMM_F(vec))((x) << 16))
#endif

// A vector of B, as it is multiplied: of DOTS_U the one of number u.
GEMM_INLINE void GEMM_F(dots_b)(GEMM_F(vec) *v, const GEMM_TB *b, const int u) {
#if GEMM_DOTS_U == 2
  *v = GEMM_DOTS_OF(*(const GEMM_F(pairsu) *)b, u);
#elif GEMM_PK == 1
  *v = GEMM_LOADV(b);
#elif GEMM_KIND == GEMM_MADD256
  *v = (GEMM_F(vec))_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)b));
#else
  *v = *(const GEMM_F(vecu) *)b;
#if GEMM_DOTS_FLIP
  *v ^= 0x80808080u;
#endif
#endif
}

// The same of B's last vector, without the elements of which the mask has none.
GEMM_INLINE void GEMM_F(dots_last)(GEMM_F(vec) *v, const GEMM_TB *b, const GEMM_F(vec) *mask, const int u) {
#if GEMM_DOTS_U == 2
  const GEMM_F(pairs) x = *(const GEMM_F(pairsu) *)b & (GEMM_F(pairs))*mask;
  *v = GEMM_DOTS_OF(x, u);
#else
  GEMM_F(dots_b)(v, b, u);
  *v = (GEMM_F(vec))((GEMM_F(bytes))*v & (GEMM_F(bytes))*mask);
#endif
}

// s += the products of the lanes of a and b.
GEMM_INLINE void GEMM_F(dots_madd)(GEMM_F(vec) *s, const GEMM_F(vec) *a, const GEMM_F(vec) *b) {
#if GEMM_PK == 1
  *s = *a * *b + *s;
#elif defined(GEMM_MODEL)
  for (int l = 0; l < GEMM_LANES; l++) {
#if GEMM_FLOAT
    const uint32_t x = ridge_float_as_u32((*a)[l]), y = ridge_float_as_u32((*b)[l]);
    (*s)[l] += ridge_u32_as_float(x & 0xffff0000u) * ridge_u32_as_float(y & 0xffff0000u);
    (*s)[l] += ridge_u32_as_float(x << 16) * ridge_u32_as_float(y << 16);
#else
    const uint32_t u = GEMM_DOTS_FLIP ? (*b)[l] : (*a)[l], i = GEMM_DOTS_FLIP ? (*a)[l] : (*b)[l];
    for (int q = 0; q < 4; q++) (*s)[l] += (uint32_t)((uint8_t)(u >> 8 * q) * (int8_t)(i >> 8 * q));
#endif
  }
#elif GEMM_KIND == GEMM_MADD256
  *s += (GEMM_F(vec))_mm256_madd_epi16((__m256i)*a, (__m256i)*b);
#elif GEMM_KIND == GEMM_VNNI256
  *s = (GEMM_F(vec))(GEMM_DOTS_FLIP ? _mm256_dpbusd_avx_epi32((__m256i)*s, (__m256i)*b, (__m256i)*a)
                                    : _mm256_dpbusd_avx_epi32((__m256i)*s, (__m256i)*a, (__m256i)*b));
#elif GEMM_KIND == GEMM_VNNI512
  *s = (GEMM_F(vec))(GEMM_DOTS_FLIP ? _mm512_dpbusd_epi32((__m512i)*s, (__m512i)*b, (__m512i)*a)
                                    : _mm512_dpbusd_epi32((__m512i)*s, (__m512i)*a, (__m512i)*b));
#elif GEMM_KIND == GEMM_BF512
  *s = (GEMM_F(vec))_mm512_dpbf16_ps((__m512)*s, (__m512bh)*a, (__m512bh)*b);
#elif GEMM_KIND == GEMM_SDOT
  *s = (GEMM_F(vec))vdotq_s32((int32x4_t)*s, (int8x16_t)*a, (int8x16_t)*b);
#elif GEMM_KIND == GEMM_USDOT
  *s = (GEMM_F(vec))vusdotq_s32((int32x4_t)*s, (uint8x16_t)*a, (int8x16_t)*b);
#endif
}

// n <= DOTS_E elements of a row of A to the vectors of one of B; hidden: of the accumulator's type (gemm_layers.h). from: where they begin in it.
GEMM_INLINE void GEMM_F(dots_copy)(GEMM_F(vec) *dst, const void *a, int hidden, int64_t from, int64_t n) {
#if GEMM_PK == 1
  enum { U = GEMM_DOTS_U };
  GEMM_S v[U][GEMM_LANES] = {{0}};
  if (hidden)
    for (int64_t l = from; l < from + n; l++) v[l % U][l / U] = ((const GEMM_S *)a)[l - from];
  else
    for (int64_t l = from; l < from + n; l++) v[l % U][l / U] = GEMM_LOADS(((const GEMM_TA *)a)[l - from]);
  memcpy(dst, v, sizeof v);
#elif GEMM_KIND == GEMM_MADD256
  int16_t v[GEMM_F(DOTS_E)] = {0};
  for (int64_t l = 0; l < n; l++) v[from + l] = ((const GEMM_TA *)a)[l];
  memcpy(dst, v, sizeof v);
#else
  memset(dst, 0, GEMM_VEC);
  memcpy((GEMM_TA *)dst + from, a, (size_t)n * sizeof(GEMM_TA));
#endif
}

// DOTS_E elements of a row of A to the vectors of one of B, `apart` from each other.
GEMM_INLINE void GEMM_F(dots_a)(GEMM_F(vec) *dst, int64_t apart, const char *a, int hidden) {
#if GEMM_DOTS_U == 2
  if (hidden) {
    const GEMM_F(pairs) x = *(const GEMM_F(pairsu) *)a, y = *(const GEMM_F(pairsu) *)(a + GEMM_VEC);
    dst[0] = (GEMM_F(vec))GEMM_DOTS_EVEN(x, y), dst[apart] = (GEMM_F(vec))GEMM_DOTS_ODD(x, y);
  } else {
    GEMM_F(dots_b)(dst, (const GEMM_TB *)a, 0);
    GEMM_F(dots_b)(dst + apart, (const GEMM_TB *)a, 1);
  }
#elif GEMM_PK == 1
  if (hidden)
    *dst = *(const GEMM_F(vecu) *)a;
  else
    *dst = GEMM_LOADV((const GEMM_TA *)a);
#elif GEMM_KIND == GEMM_MADD256 && GEMM_A_SIGNED
  *dst = (GEMM_F(vec))_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)a));
#elif GEMM_KIND == GEMM_MADD256
  *dst = (GEMM_F(vec))_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)a));
#else
  *dst = *(const GEMM_F(vecu) *)a;
#endif
  (void)apart, (void)hidden;
}

// Copies rows of A of K elements, pitch lda, to ws (dots_bytes).
GEMM_NOINLINE GEMM_F(dots) GEMM_F(pack_dots)(const void *rows, int64_t lda, int hidden, int64_t M, int64_t K, void *ws) {
  enum { E = GEMM_F(DOTS_E), U = GEMM_DOTS_U };
  typedef GEMM_F(vec) V;
  const int64_t whole = GEMM_DOTS_WHOLE(K), size = hidden ? (int64_t)sizeof(GEMM_S) : (int64_t)sizeof(GEMM_TA);
  const int64_t tiles = (M + GEMM_DOTS_ROWS - 1) / GEMM_DOTS_ROWS, high = tiles * GEMM_DOTS_ROWS, left = K - whole * E;
  V *to = ws, *end = to + high * whole * U;
  GEMM_S *fix = (GEMM_S *)(end + high * U);
  memset(end, 0, (size_t)high * (U * GEMM_VEC + sizeof(GEMM_S)));
  const int64_t block_of = M > 3 ? GEMM_DOTS_BLOCK : whole + 1;
  for (int64_t v0 = 0; v0 < whole || v0 == 0; v0 += block_of) {
    const int64_t n = gemm_min(block_of, whole - v0);
    for (int64_t t = 0, i0; t < tiles; t++) {
      const int m = GEMM_F(dots_tile_at)(M, t, &i0), h = m < 4 && M > 3 ? 4 : m;
      V *block = to + (v0 * high + t * n * GEMM_DOTS_ROWS) * U;
      for (int i = 0; i < h; i++) {
        const char *a = (const char *)rows + ((i0 + i) * lda + v0 * E) * size;
        for (int64_t v = 0; v < n; v++) {
          if (i < m) {
            GEMM_F(dots_a)(block + v * U * h + i, h, a + v * E * size, hidden);
          } else {
            for (int u = 0; u < U; u++) memset(block + (v * U + u) * h + i, 0, GEMM_VEC);
          }
        }
        if (v0 == 0 && i < m && left > 0)
          GEMM_F(dots_copy)(end + (t * GEMM_DOTS_ROWS + i) * U, (const char *)rows + ((i0 + i) * lda + whole * E) * size, hidden, whole > 0 ? E - left : 0, left);
      }
    }
  }
#if GEMM_DOTS_FLIP
  for (int64_t i = 0; i < M; i++) {
    int32_t sum = 0;
    for (int64_t k = 0; k < K; k++) sum += ((const int8_t *)rows)[i * lda + k];
    fix[i] = (GEMM_S)sum * (GEMM_S)-128;
  }
#endif
  const GEMM_F(dots) d = {M, K, ws, high, end, GEMM_DOTS_FLIP ? fix : NULL, 0, GEMM_DOTS_ASKS(K), 0};
  return d;
}

#include "gemm_dots_lanes.h"

// Columns of a chunk, in whole groups and whole vectors, and the pitch of its sums: groups write four, which may be one more than they are.
RIDGE_INLINE int64_t GEMM_F(dots_cols)(int64_t M) { return gemm_min(240, (GEMM_DOTS_SUMS / M - 16) / 48 * 48); }
RIDGE_INLINE int64_t GEMM_F(dots_ld)(int64_t M) { return GEMM_F(dots_cols)(M) + 16; }

// What a tile does: n vectors of K of rows b[0], b[1], ..., and the rest of K where the block is the last. Sums go on from acc after the first
// block and are left there before the last.
typedef struct GEMM_F(dots_step) {
  const GEMM_F(vec) *a, *end;
  const GEMM_TB *b[4];
  const GEMM_TB *rest[4]; // what is left of each row, as a vector; rest[0] NULL: nothing
  int64_t n, ahead;       // ahead: elements to what is read next
  int first, last, m;     // m: rows that there are
  GEMM_S *sum;            // m rows of four sums, pitch ld
  int64_t ld;
  const GEMM_S *fix;      // what each row's begin with, or NULL
} GEMM_F(dots_step);

// h rows of A times w of B.
GEMM_TEMPLATE void GEMM_F(dots_tile)(const int h, const int w, const GEMM_F(dots_step) *p, const GEMM_F(vec) *mask, GEMM_F(vec) *acc) {
  typedef GEMM_F(vec) V;
  typedef GEMM_F(vecu) VU;
  enum { E = GEMM_F(DOTS_E), U = GEMM_DOTS_U };
  V s[24];
  const VU *a = (const VU *)p->a;
  const GEMM_TB *b[4];
  if (p->first) {
    RIDGE_UNROLL_FULL for (int i = 0; i < h * w; i++) s[i] = (V){0};
  } else {
    RIDGE_UNROLL_FULL for (int i = 0; i < h * w; i++) s[i] = acc[i];
  }
  RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) b[j] = p->b[j];
  const int64_t n = p->n, ahead = p->ahead;
  for (int64_t v = 0; v < n; v++) {
    RIDGE_UNROLL_FULL for (int u = 0; u < U; u++, a += h) {
      V x[4];
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) {
        GEMM_F(dots_b)(&x[j], b[j], u);
        if (u < U - 1) {
          __asm__("" : "+r"(b[j])); // the vector is read again and not kept: no register is left for it
        } else {
          if (ahead) __builtin_prefetch(b[j] + ahead, 0, 2);
          b[j] += E;
        }
      }
      RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
        const V y = a[i];
        RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) GEMM_F(dots_madd)(&s[i * w + j], &y, &x[j]);
      }
    }
  }
  if (!p->last) {
    RIDGE_UNROLL_FULL for (int i = 0; i < h * w; i++) acc[i] = s[i];
    return;
  }
  if (p->rest[0]) {
    RIDGE_UNROLL_FULL for (int u = 0; u < U; u++) {
      V x[4];
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) GEMM_F(dots_last)(&x[j], p->rest[j], mask, u);
      RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
        const V y = p->end[i * U + u];
        RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) GEMM_F(dots_madd)(&s[i * w + j], &y, &x[j]);
      }
    }
  }
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
    if (i >= p->m) return;
    const V *x = s + i * w;
    GEMM_F(dots_lanes)(p->sum + i * p->ld, x, x + 1, x + 2, x + (w > 3 ? 3 : 2), p->fix ? p->fix[i] : 0);
  }
}

#define GEMM_DOTS_TILE(h, w)                                                                                    \
  GEMM_NOINLINE void GEMM_F(dots_##h)(const GEMM_F(dots_step) *p, const GEMM_F(vec) *mask, GEMM_F(vec) *acc) {  \
    GEMM_F(dots_tile)(h, w, p, mask, acc);                                                                     \
  }
#if GEMM_VEC == 32
#define GEMM_DOTS_W 3 // columns of a tile
GEMM_DOTS_TILE(4, 3)
#else
#define GEMM_DOTS_W 4
GEMM_DOTS_TILE(4, 4) GEMM_DOTS_TILE(5, 4) GEMM_DOTS_TILE(6, 4)
#endif
#undef GEMM_DOTS_TILE
GEMM_INLINE void GEMM_F(dots_any)(int h, const GEMM_F(dots_step) *p, const GEMM_F(vec) *mask, GEMM_F(vec) *acc) {
  if (h == 4) GEMM_F(dots_4)(p, mask, acc);
#if GEMM_VEC != 32
  else if (h == 5) GEMM_F(dots_5)(p, mask, acc);
  else GEMM_F(dots_6)(p, mask, acc);
#endif
}

// What is left of a row of B behind its whole vectors: the address of a vector that ends with it, or where the row is shorter of a copy.
GEMM_INLINE const GEMM_TB *GEMM_F(dots_rest)(const GEMM_TB *row, int64_t K, GEMM_TB *spare) {
  enum { E = GEMM_F(DOTS_E) };
  if (K >= E) return row + K - E;
  memset(spare, 0, E * sizeof *spare);
  memcpy(spare, row, (size_t)K * sizeof *spare);
  return spare;
}

#include "gemm_dots_few.h"

// sum[M x n] = A * b[n,K]^T, pitch ld; n at most dots_cols. more: rows of b that may be asked for, n or more.
GEMM_NOINLINE void GEMM_F(dots_sum)(const GEMM_F(dots) *d, const GEMM_TB *b, int64_t ldb, int64_t n, int64_t more, GEMM_S *sum, int64_t ld) {
  enum { E = GEMM_F(DOTS_E), W = GEMM_DOTS_W };
  typedef GEMM_F(vec) V;
  const int64_t whole = GEMM_DOTS_WHOLE(d->K), left = d->K - whole * E, tiles = (d->M + GEMM_DOTS_ROWS - 1) / GEMM_DOTS_ROWS;
  V mask;
  memset(&mask, 0xff, sizeof mask);
  if (whole > 0) memset(&mask, 0, (size_t)((E - left) * (GEMM_VEC / E)));
  switch (d->M) {
    case 1: (!d->ahead ? GEMM_F(dots_run_1) : d->beside ? GEMM_DOTS_BESIDE(1) : GEMM_F(dots_far_1))(d, &mask, b, ldb, n, sum, ld); return;
    case 2: (!d->ahead ? GEMM_F(dots_run_2) : d->beside ? GEMM_DOTS_BESIDE(2) : GEMM_F(dots_far_2))(d, &mask, b, ldb, n, sum, ld); return;
    case 3: (!d->ahead ? GEMM_F(dots_run_3) : d->beside ? GEMM_DOTS_BESIDE(3) : GEMM_F(dots_far_3))(d, &mask, b, ldb, n, sum, ld); return;
#undef GEMM_DOTS_BESIDE
  }
  GEMM_TB spare[W][GEMM_F(DOTS_E)];
  V acc[(GEMM_DOTS_MAX + GEMM_DOTS_ROWS - 1) / GEMM_DOTS_ROWS][GEMM_DOTS_ROWS * GEMM_DOTS_COLS]; // of each tile, for each of its groups of columns
  for (int64_t j0 = 0; j0 < n; j0 += GEMM_DOTS_COLS) {
    const int64_t cols = gemm_min(GEMM_DOTS_COLS, n - j0);
    for (int64_t v0 = 0; v0 < whole || v0 == 0; v0 += GEMM_DOTS_BLOCK) {
      GEMM_F(dots_step) p;
      p.n = gemm_min(GEMM_DOTS_BLOCK, whole - v0), p.first = v0 == 0, p.last = v0 + p.n >= whole;
      for (int64_t t = 0, i0; t < tiles; t++) {
        const int m = GEMM_F(dots_tile_at)(d->M, t, &i0), h = m < 4 ? 4 : m;
        p.a = (const V *)d->a + (v0 * d->high + t * p.n * GEMM_DOTS_ROWS) * GEMM_DOTS_U;
        p.end = d->end + t * GEMM_DOTS_ROWS * GEMM_DOTS_U, p.fix = d->fix ? d->fix + i0 : NULL, p.m = m, p.ld = ld;
        // The next block of these columns, else the first of those that come next.
        p.ahead = t > 0 || !d->asks ? 0 : v0 + p.n + GEMM_DOTS_BLOCK <= whole ? GEMM_DOTS_BLOCK * E : p.last ? GEMM_DOTS_COLS * ldb - v0 * E : 0;
        for (int64_t j = 0; j < cols; j += W) {
          for (int q = 0; q < W; q++) {
            const GEMM_TB *row = b + (j0 + gemm_min(j + q, cols - 1)) * ldb; // beyond the last column the last again
            p.b[q] = row + v0 * E;
            p.rest[q] = p.last && left > 0 ? GEMM_F(dots_rest)(row, d->K, spare[q]) : NULL;
          }
          if (p.last && j0 + j + GEMM_DOTS_COLS + W > more) p.ahead = 0;
          p.sum = sum + i0 * ld + j0 + j;
          GEMM_F(dots_any)(h, &p, &mask, acc[t] + j * h);
        }
      }
    }
  }
}

// How few rows read B, of which a thread has so many bytes: where L2 keeps them nothing is asked for.
RIDGE_INLINE void GEMM_F(dots_reading)(GEMM_F(dots) *d, int64_t bytes, const ridge_ctx *ctx) {
  d->ahead = bytes >= GEMM_DOTS_FAR ? ctx->ahead : 0, d->beside = ctx->runs > 1 && bytes * ctx->nthreads >= GEMM_DOTS_MEMORY;
}

// The product. One row that needs no copy takes no workspace.
GEMM_NOINLINE int GEMM_F(run_dots)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  int64_t from, to;
  ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &from, &to);
  if (from >= to) return RIDGE_OK;
  GEMM_S sum[GEMM_DOTS_SUMS] __attribute__((aligned(64)));
  GEMM_F(dots) d;
  const int64_t cols = GEMM_F(dots_cols)(g->M), ld = GEMM_F(dots_ld)(g->M);
#if GEMM_PK == 1 && GEMM_SAME
  GEMM_F(vec) end;
  if (g->M == 1) {
    const int64_t whole = GEMM_DOTS_WHOLE(g->K), left = g->K - whole * GEMM_LANES;
    GEMM_F(dots_copy)(&end, (const GEMM_S *)g->A + whole * GEMM_LANES, 0, whole > 0 ? GEMM_LANES - left : 0, left);
    const GEMM_F(dots) one = {1, g->K, (const char *)g->A, 1, &end, NULL, 0, 0, 0};
    d = one;
  } else
#endif
    d = GEMM_F(pack_dots)(g->A, g->lda, 0, g->M, g->K, (char *)ctx->workspace + ctx->tid * GEMM_F(dots_bytes)(g->M, g->K));
  const int64_t reads = (to - from) * g->ldb * (int64_t)sizeof(GEMM_TB);
  GEMM_F(dots_reading)(&d, reads, ctx), d.asks &= reads > GEMM_DOTS_NEAR;
  for (int64_t j = from, n; j < to; j += n) {
    n = gemm_min(cols, to - j);
    GEMM_F(dots_sum)(&d, (const GEMM_TB *)g->B + j * g->ldb, g->ldb, n, to - j, sum, ld);
    GEMM_F(finish)(g, 0, j, g->M, n, sum, ld, NULL, 0);
  }
  return RIDGE_OK;
}
