// Small products (template, in gemm_fma.h): no packing of A, no workspace, no barrier.
//
// The tile reads A by broadcast and the rows of B where they lie, up to 4 vectors of them, and
// stores to C itself, with a factor too; what has more of an end goes through gemm_epilogue.h. Tiles of all
// heights are made, so rows are split evenly and none is padded. The last vector of columns is moved
// back to end with the matrix (columns computed twice are the same numbers); only where the
// matrix is narrower than one vector is a part of one loaded and stored (columns that fill no more than half a vector otherwise: gemm_small_half.h).
// B stored [N,K], and A and B of 16 bits, are turned or widened on the stack, a panel at a time.
// Threads share rows or columns of C once the work is worth two barriers; a batch by matrices.
//
// Floor, AVX2 (16 registers: 12 sums, up to 3 of B, a broadcast; two multiply-adds and two loads a
// cycle): tiles of 12x1, 6x2 and 4x3 need 6 cycles of multiply-adds a k, and 13, 8 and 7 loads (6.5, 4,
// 3.5 cycles). 8x8x8 is one tile of 8x1: 9 loads a k, 36 cycles.
//
// One Zen 3 core, fp32, GFLOP/s, before (packed, or past sums in L1), with the compiler's addressing and
// with pointers it cannot see through: 16x16x16 24, 36, 69; 32x32x32 44, 49, 72; 64x64x64 65, 58, 82.
// Panels of B copied to the stack: 8x256x256 63 instead of 84, 32x32x32 59 instead of 64.
// Cores with AVX512-FP16, columns of half a vector by pairs of k (gemm_small_half.h): 24x24x24 1.20 to 1.3, 8x8x8 with fewer instructions around it 1.2.

typedef GEMM_S GEMM_F(one_u) __attribute__((aligned(1), may_alias));

#ifndef GEMM_SMALL_SHARE
#define GEMM_SMALL_AHEAD 6 // rows of B
#define GEMM_SMALL_NEAR 40000 // bytes of B that stay in L1 of 48 KiB
#define GEMM_SLIM_C (1 << 19)
#define GEMM_SLIM_PANELS 2 // of B beside them
#define GEMM_SLIM_WIDE 48 // rows of A of 16 bits at a time: whole tiles of any height
#define GEMM_SMALL_SHARE 4096 // multiply-adds that are worth another thread
#define GEMM_SMALL_TURNED 128 // rows of C that are worth turning B once more
#if defined(__aarch64__) // loads of A: a pointer for each row, or for three where addresses may have an index
#define GEMM_SMALL_GROUP 1
#else
#define GEMM_SMALL_GROUP 3
#endif
#endif
// Rows of the highest tile of a part of a vector, 1, 2, 3 and 4 vectors: 12 sums of 16 registers,
// 16 to 18 of 32, which hide the latency of two pipes (4 x 2) and of four (4 x 4).
#if GEMM_VEC == 32
#define GEMM_SMALL_ROWS {8, 12, 6, 4, 2}
#define GEMM_SMALL_WHOLE(X) GEMM_SMALL_ONE(X, 1) GEMM_SMALL_TWO(X, 2) GEMM_SMALL_4(X, 3) GEMM_SMALL_2(X, 4)
#define GEMM_SMALL_PART GEMM_SMALL_8
#define GEMM_SMALL_ONE GEMM_SMALL_12
#define GEMM_SMALL_TWO GEMM_SMALL_6
#elif defined(GEMM_COVE) // two multiply-adds a cycle: higher tiles and whole vectors
#define GEMM_SMALL_ROWS {16, 16, 12, 8, 6}
#define GEMM_SMALL_WHOLE(X) GEMM_SMALL_ONE(X, 1) GEMM_SMALL_TWO(X, 2) GEMM_SMALL_8(X, 3) GEMM_SMALL_6(X, 4)
#define GEMM_SMALL_PART GEMM_SMALL_16
#define GEMM_SMALL_ONE GEMM_SMALL_16
#define GEMM_SMALL_TWO GEMM_SMALL_12
#else
#define GEMM_SMALL_ROWS {8, 12, 8, 6, 4}
#define GEMM_SMALL_WHOLE(X) GEMM_SMALL_ONE(X, 1) GEMM_SMALL_TWO(X, 2) GEMM_SMALL_6(X, 3) GEMM_SMALL_4(X, 4)
#define GEMM_SMALL_PART GEMM_SMALL_8
#define GEMM_SMALL_ONE GEMM_SMALL_12
#define GEMM_SMALL_TWO GEMM_SMALL_8
#endif
#define GEMM_SMALL_TILES(X) GEMM_SMALL_PART(X, 0) GEMM_SMALL_WHOLE(X)

#if GEMM_SAME && defined(GEMM_COVE) && !defined(GEMM_FROM_MEMORY)
#define GEMM_SMALL_LOADS // loads bind (Ice Lake: 1.13 vectors of 512 bits a cycle)
#define GEMM_SMALL_IS_NEAR(g) ((g)->ldb * (g)->K * (int64_t)sizeof(GEMM_S) <= GEMM_SMALL_NEAR)
#else
#define GEMM_SMALL_IS_NEAR(g) 0
#endif

#ifdef GEMM_COVE // L2 of 2 MiB
#define GEMM_SLIM_B (1 << 20)
// Few rows of A, and of B a page apart and more, which evict each other: one tile has all rows of A, if it can, so that B is read once.
// Emerald Rapids, one thread, of the rate of tiles that pack B: 5x1024x200, 6x1500x128, 7x2000x300 1.87, 1.88, 1.77, 8x2048x512 1.26; K of 1000 0.8 to 1.04.
// Ice Lake: 5x1024x1024 1.43, 8x1024x1024 1.06, 16x1024x1024 0.77.
#ifdef GEMM_FROM_MEMORY
#define GEMM_SMALL_ONCE_K(g) 512
#else
#define GEMM_SMALL_ONCE_K(g) ((g)->M <= 6 ? GEMM_SLIM_K : 512)
#endif
#define GEMM_SMALL_ONCE(g) ((g)->ldb * (int64_t)sizeof(GEMM_S) >= 4096 && (g)->M <= 16 && (g)->K <= GEMM_SMALL_ONCE_K(g))
#else
#define GEMM_SLIM_B GEMM_SMALL_B
#define GEMM_SMALL_ONCE(g) 0
#endif

#if GEMM_SAME
#define GEMM_SMALL_COLUMN
#define GEMM_SMALL_ALONE 16 // elements of K from which the only column of B is cheaper as dot products
#if GEMM_VEC == 64
#define GEMM_SMALL_DOT 16 // the last one, after whole vectors of others
#else
#define GEMM_SMALL_DOT INT64_MAX
#endif
#endif

// Which lanes of a vector lie inside the matrix: the first n.
#if defined(GEMM_MODEL) || !defined(__x86_64__)
#define GEMM_LANES_OF int64_t
#elif GEMM_VEC == 64
#define GEMM_LANES_OF __mmask16
#else
#define GEMM_LANES_OF __m256i
#endif

GEMM_INLINE GEMM_LANES_OF GEMM_F(lanes_of)(int64_t n) {
#if defined(GEMM_MODEL) || !defined(__x86_64__)
  return n;
#elif GEMM_VEC == 64
  return (__mmask16)((1u << n) - 1);
#else
  const int32_t l = (int32_t)n * (int32_t)(sizeof(GEMM_S) / 4);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(l), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
#endif
}

GEMM_INLINE void GEMM_F(load_lanes)(GEMM_F(vec) *v, const GEMM_S *p, GEMM_LANES_OF in) {
#if defined(GEMM_MODEL) || !defined(__x86_64__)
  *v = (GEMM_F(vec)){0};
  for (int64_t l = 0; l < in; l++) (*v)[l] = p[l];
#elif GEMM_VEC == 64
  *v = sizeof(GEMM_S) == 8 ? (GEMM_F(vec))_mm512_maskz_loadu_pd((__mmask8)in, p)
                           : (GEMM_F(vec))_mm512_maskz_loadu_ps(in, p);
#else
  *v = (GEMM_F(vec))_mm256_maskload_ps((const float *)p, in);
#endif
}

// The first n lanes, in pieces of halves: AVX2's store under a mask takes 42 operations on Zen 3.
GEMM_INLINE void GEMM_F(store_lanes)(GEMM_S *c, const GEMM_F(vec) *v, int64_t n, GEMM_LANES_OF in) {
  (void)in;
#if GEMM_VEC == 64 && !defined(GEMM_MODEL)
  if (sizeof(GEMM_S) == 8)
    _mm512_mask_storeu_pd(c, (__mmask8)in, (__m512d)*v);
  else
    _mm512_mask_storeu_ps(c, in, (__m512)*v);
  return;
#endif
  GEMM_S t[GEMM_LANES] __attribute__((aligned(GEMM_VEC)));
  *(GEMM_F(vec) *)t = *v;
  int64_t at = 0;
  RIDGE_UNROLL_FULL for (int w = GEMM_LANES / 2; w > 0; w /= 2)
    if (n & w) memcpy(c + at, t + at, (size_t)w * sizeof(GEMM_S)), at += w;
}

#include "gemm_small_tile.h"
typedef void (*GEMM_F(small_fn))(const GEMM_S *, int64_t, const GEMM_S *, int64_t, int64_t, int64_t, const GEMM_S *, GEMM_S *, int64_t);

#define GEMM_SMALL_DEFINE(r, v)                                                                                         \
  GEMM_NOINLINE void GEMM_F(small_##v##_##r)(const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb, int64_t kc,\
                                             int64_t last, const GEMM_S *alpha, GEMM_S *c, int64_t ldc) { \
    GEMM_F(small_tile)(r, v, 0, a, lda, b, ldb, kc, last, alpha, c, ldc);                               \
  }
GEMM_SMALL_TILES(GEMM_SMALL_DEFINE)
#undef GEMM_SMALL_DEFINE

#include "gemm_small_half.h"
#include "gemm_small_pair.h"

#if GEMM_SAME
// A whole product that is one tile of at most two vectors, C just the product: the tile takes what it needs from the arguments itself. 8x8x8 had half
// its time before and after its multiply-adds, so such products are asked for first and by few instructions, and their tile is jumped to.
#ifdef GEMM_SMALL_LOADS
#define GEMM_ONE_TILES(X) GEMM_SMALL_TWO(X, 2)
#else
#define GEMM_ONE_TILES(X) GEMM_SMALL_PART(X, 0) GEMM_SMALL_ONE(X, 1) GEMM_SMALL_TWO(X, 2)
#endif
#define GEMM_ONE_DEFINE(r, v)                                                                                                           \
  GEMM_NOINLINE int GEMM_F(one_##v##_##r)(const ridge_gemm_args *g) {                                                                   \
    GEMM_F(small_tile)(r, v, 0, g->A, g->lda, g->B, g->ldb, g->K, v ? g->N - GEMM_LANES : g->N, NULL, g->C, g->ldc);                       \
    return RIDGE_OK;                                                                                                                    \
  }
GEMM_ONE_TILES(GEMM_ONE_DEFINE)
#undef GEMM_ONE_DEFINE
#define GEMM_ONE_TALL(X) X(13, 6, 7) X(14, 7, 7) X(15, 7, 8) X(16, 8, 8) // rows of more than a tile by two
#define GEMM_ONE_HIGH(X) X(9, 4, 5) X(10, 5, 5) X(11, 5, 6) X(12, 6, 6) // of more than 8
#ifdef GEMM_SMALL_HALF
#define GEMM_ONE_DEFINE(r, kind)                                                                                                     \
  GEMM_NOINLINE int GEMM_F(one_half_##kind##_##r)(const ridge_gemm_args *g) {                                                        \
    GEMM_F(half_tile)(r, kind, g->A, g->lda, g->B, g->ldb, g->K, (int32_t)g->N - GEMM_HALF_FROM(kind), NULL, g->C, g->ldc);          \
    return RIDGE_OK;                                                                                                                 \
  }
GEMM_HALF_TILES(GEMM_ONE_DEFINE)
#undef GEMM_ONE_DEFINE
#endif
#ifdef GEMM_SMALL_LOADS
#define GEMM_ONE_DEFINE(r, kind)                                                                                                      \
  GEMM_NOINLINE int GEMM_F(one_pair_##kind##_##r)(const ridge_gemm_args *g) {                                                         \
    GEMM_F(pair_tile)(r, kind, g->A, g->lda, g->B, g->ldb, g->K, g->N, NULL, g->C, g->ldc);                                          \
    return RIDGE_OK;                                                                                                                  \
  }
GEMM_PAIR_TILES(GEMM_ONE_DEFINE)
#undef GEMM_ONE_DEFINE
#define GEMM_ONE_DEFINE(r, upper, lower)                                                                                              \
  GEMM_NOINLINE int GEMM_F(one_pairs_##r)(const ridge_gemm_args *g) {                                                                 \
    const GEMM_F(small_fn) *tile = GEMM_F(pairs)[GEMM_PAIR_KIND(g->N)];                                                              \
    tile[upper](g->A, g->lda, g->B, g->ldb, g->K, g->N, NULL, g->C, g->ldc);                                                          \
    tile[lower]((const GEMM_S *)g->A + upper * g->lda, g->lda, g->B, g->ldb, g->K, g->N, NULL, (GEMM_S *)g->C + upper * g->ldc, g->ldc); \
    return RIDGE_OK;                                                                                                                  \
  }
GEMM_ONE_TALL(GEMM_ONE_DEFINE)
#undef GEMM_ONE_DEFINE
// 9 to 12 rows of a vector and a half: what no two threads share goes as one tile, whose sums have another order (fp64 12^3 1.2, fp32 10x24x10 1.25; 12x24x24 0.8).
#define GEMM_ONE_DEFINE(r, upper, lower)                                                                                              \
  GEMM_NOINLINE int GEMM_F(one_high_##r)(const ridge_gemm_args *g) {                                                                  \
    const GEMM_F(small_fn) *tile = GEMM_F(pairs)[2];                                                                                  \
    if (g->M * g->N * g->K < GEMM_SMALL_SHARE) return GEMM_F(one_half_1_##r)(g);                                                      \
    tile[upper](g->A, g->lda, g->B, g->ldb, g->K, g->N, NULL, g->C, g->ldc);                                                          \
    tile[lower]((const GEMM_S *)g->A + upper * g->lda, g->lda, g->B, g->ldb, g->K, g->N, NULL, (GEMM_S *)g->C + upper * g->ldc, g->ldc); \
    return RIDGE_OK;                                                                                                                  \
  }
GEMM_ONE_HIGH(GEMM_ONE_DEFINE)
#undef GEMM_ONE_DEFINE
#endif
#ifdef GEMM_COVE // two vectors of more rows than a tile has: two tiles, still without what small_direct asks
#define GEMM_ONE_DEFINE(r, upper, lower)                                                                                             \
  GEMM_NOINLINE int GEMM_F(one_tall_##r)(const ridge_gemm_args *g) {                                                                 \
    const GEMM_S *a = g->A, *b = g->B;                                                                                               \
    GEMM_S *c = g->C;                                                                                                                \
    GEMM_F(small_2_##upper)(a, g->lda, b, g->ldb, g->K, g->N - GEMM_LANES, NULL, c, g->ldc);                                         \
    GEMM_F(small_2_##lower)(a + upper * g->lda, g->lda, b, g->ldb, g->K, g->N - GEMM_LANES, NULL, c + upper * g->ldc, g->ldc);       \
    return RIDGE_OK;                                                                                                                 \
  }
GEMM_ONE_TALL(GEMM_ONE_DEFINE)
#undef GEMM_ONE_DEFINE
#endif
typedef int (*GEMM_F(one_fn))(const ridge_gemm_args *);
// The tile of N columns and M rows, by N - 1 and M - 1; NULL where it takes more than one.
static const GEMM_F(one_fn) GEMM_F(ones)[2 * GEMM_LANES][16] = {
#ifdef GEMM_SMALL_HALF
#define GEMM_ONE_NARROW GEMM_LANES / 2
#define GEMM_ONE_WIDE GEMM_LANES * 3 / 2
#else
#define GEMM_ONE_NARROW 0
#define GEMM_ONE_WIDE GEMM_LANES
#endif
#define GEMM_ONE_ENTRY(r, v) [v == 0 ? GEMM_ONE_NARROW : v == 1 ? GEMM_LANES - 1 : GEMM_ONE_WIDE ... (v ? v * GEMM_LANES : GEMM_LANES - 1) - 1][r - 1] = GEMM_F(one_##v##_##r),
    GEMM_ONE_TILES(GEMM_ONE_ENTRY)
#undef GEMM_ONE_ENTRY
#ifdef GEMM_SMALL_HALF
#define GEMM_ONE_ENTRY(r, kind) [GEMM_HALF_LEAST(kind) - 1 ... GEMM_HALF_MOST(kind) - 1][r - 1] = GEMM_F(one_half_##kind##_##r),
    GEMM_ONE_HALVES(GEMM_ONE_ENTRY)
#undef GEMM_ONE_ENTRY
#endif
#ifdef GEMM_COVE
#define GEMM_ONE_ENTRY(r, upper, lower) [GEMM_ONE_WIDE ... 2 * GEMM_LANES - 1][r - 1] = GEMM_F(one_tall_##r),
    GEMM_ONE_TALL(GEMM_ONE_ENTRY)
#undef GEMM_ONE_ENTRY
#endif
#ifdef GEMM_SMALL_LOADS
#define GEMM_ONE_FROM(kind) (kind == 0 ? GEMM_LANES / 2 : GEMM_LANES - 1 + (kind == 2))
#define GEMM_ONE_TO(kind) (kind == 0 ? GEMM_LANES - 2 : kind == 1 ? GEMM_LANES - 1 : GEMM_LANES * 3 / 2 - 1)
#define GEMM_ONE_ENTRY(r, kind) [GEMM_ONE_FROM(kind) ... GEMM_ONE_TO(kind)][r - 1] = GEMM_F(one_pair_##kind##_##r),
    GEMM_PAIR_TILES(GEMM_ONE_ENTRY)
#undef GEMM_ONE_ENTRY
#define GEMM_ONE_ENTRY(r, upper, lower) [GEMM_LANES / 2 ... GEMM_LANES * 3 / 2 - 1][r - 1] = GEMM_F(one_pairs_##r),
    GEMM_ONE_TALL(GEMM_ONE_ENTRY)
#undef GEMM_ONE_ENTRY
#define GEMM_ONE_ENTRY(r, upper, lower) [GEMM_LANES ... GEMM_LANES * 3 / 2 - 1][r - 1] = GEMM_F(one_high_##r),
    GEMM_ONE_HIGH(GEMM_ONE_ENTRY)
#undef GEMM_ONE_ENTRY
#undef GEMM_ONE_FROM
#undef GEMM_ONE_TO
#endif
#undef GEMM_ONE_NARROW
#undef GEMM_ONE_WIDE
};

// Whether C is just the product, of one matrix, with nothing asked for of how: numbers of 32 bits that are neighbours are read as one, factors by their bits.
RIDGE_INLINE int GEMM_F(bare)(const ridge_gemm_args *g) {
  _Static_assert(offsetof(ridge_gemm_args, act) == offsetof(ridge_gemm_args, trans_b) + 4 && offsetof(ridge_gemm_args, kc) == offsetof(ridge_gemm_args, mc) + 4,
                 "trans_b and act, and mc and kc, are read together");
  const uint64_t one = 0x3ff0000000000000; // 1.0
  const uint64_t set = (uintptr_t)g->bias | (uintptr_t)g->residual | (uintptr_t)g->scale | *(const gemm_u64 *)&g->beta | *(const gemm_u64 *)&g->trans_b |
                       *(const gemm_u64 *)&g->mc | (uint32_t)(g->nc | g->layers | g->packing);
  return set == 0 && *(const gemm_u64 *)&g->alpha == one && g->batch <= 1;
}

#ifdef GEMM_SMALL_COLUMN
// Whether the last column of B goes by dot products: by the whole matrix alone, so that no number of threads changes a sum.
RIDGE_INLINE int GEMM_F(ends_in_column)(const ridge_gemm_args *g) {
  return g->N == 1 ? g->K >= GEMM_SMALL_ALONE && g->M * g->K >= 12 * GEMM_SMALL_ALONE : g->N % GEMM_LANES == 1 && g->K >= GEMM_SMALL_DOT;
}
#endif

// The tile of a bare product, or NULL where it takes more than one.
RIDGE_INLINE GEMM_F(one_fn) GEMM_F(only_tile)(const ridge_gemm_args *g, int nthreads) {
  if ((uint64_t)g->M - 1 >= 16 || (uint64_t)g->N - 1 >= 2 * GEMM_LANES || (uint64_t)g->K > GEMM_SMALL_K) return NULL;
#ifdef GEMM_SMALL_COLUMN
  if (GEMM_F(ends_in_column)(g)) return NULL;
#endif
  if (nthreads > 1 && g->M * g->N * g->K >= GEMM_SMALL_SHARE) return NULL; // two have a share of it
  return GEMM_F(ones)[g->N - 1][g->M - 1];
}
#endif

static const GEMM_F(small_fn) GEMM_F(small_tiles)[5][17] = {
#define GEMM_SMALL_ENTRY(r, v) [v][r] = GEMM_F(small_##v##_##r),
    GEMM_SMALL_TILES(GEMM_SMALL_ENTRY)
#undef GEMM_SMALL_ENTRY
};
static const int32_t GEMM_F(small_rows)[5] = GEMM_SMALL_ROWS;

#ifdef GEMM_SMALL_COLUMN
// m rows from i0 of the single column j of C, b its column of B, as dot products of the rows of A where they lie, four at a time: a vector of columns, of which one counts, is K
// multiply-adds a row, these are K/16 and four rows' sums of lanes some 13 instructions.
// Zen 4, one thread, fp32, 33 cubed: 98.1 GFLOP/s for 85.4 by half a vector.
GEMM_NOINLINE void GEMM_F(small_column)(const ridge_gemm_args *g, int direct, const GEMM_S *a, const GEMM_S *b, int64_t i0, int32_t m, int64_t j) {
  typedef GEMM_F(vec) V;
  enum { L = GEMM_LANES, R = 4 };
  GEMM_S room[GEMM_SLIM_K] __attribute__((aligned(64))), t[R];
  const int64_t whole = g->K / L * L;
  const GEMM_LANES_OF in = GEMM_F(lanes_of)(g->K - whole);
  const GEMM_S alpha = (GEMM_S)g->alpha;
  if (g->ldb > 1) { // at most GEMM_SLIM_K
    for (int64_t k = 0; k < g->K; k++) room[k] = b[k * g->ldb];
    b = room;
  }
  V end = {0};
  if (whole < g->K) GEMM_F(load_lanes)(&end, b + whole, in);
  for (int32_t i = 0; i < m; i += R) {
    const int32_t r = (int32_t)gemm_min(R, m - i);
    const GEMM_S *row[R];
    RIDGE_UNROLL_FULL for (int q = 0; q < R; q++) row[q] = a + (i + (q < r ? q : 0)) * g->lda;
    V s[R];
    RIDGE_UNROLL_FULL for (int q = 0; q < R; q++) s[q] = (V){0};
    for (int64_t k = 0; k < whole; k += L)
      RIDGE_UNROLL_FULL for (int q = 0; q < R; q++) s[q] = *(const GEMM_F(vecu) *)(row[q] + k) * *(const GEMM_F(vecu) *)(b + k) + s[q];
    if (whole < g->K)
      RIDGE_UNROLL_FULL for (int q = 0; q < R; q++) {
        V x;
        GEMM_F(load_lanes)(&x, row[q] + whole, in);
        s[q] = x * end + s[q];
      }
    GEMM_F(dots_lanes)(t, &s[0], &s[1], &s[2], &s[3], 0);
    if (direct)
      for (int q = 0; q < r; q++) ((GEMM_S *)g->C)[(i0 + i + q) * g->ldc + j] = alpha == 1 ? t[q] : alpha * t[q];
    else
      GEMM_F(finish)(g, i0 + i, j, r, 1, t, 1, NULL, 0);
  }
}
#endif

// m rows from i0 and w columns from j0 of C by tiles of v vectors and up to `most` rows: a points at the rows of A, b at the first row of the
// columns of B; ldb and last are what the tiles take. direct: they store to C.
GEMM_INLINE void GEMM_F(small_down)(const ridge_gemm_args *g, int direct, const GEMM_F(small_fn) *tile, int32_t most, const GEMM_S *a, int64_t lda,
                                    const GEMM_S *b, int64_t ldb, int last, int64_t i0, int32_t m, int64_t j0, int32_t w, int v) {
  enum { L = GEMM_LANES };
  int32_t rows = m, higher = 0; // rows of a tile; so many tiles have one more
  if (m > most) {
    const int32_t tiles = (m + most - 1) / most;
    rows = m / tiles, higher = m % tiles;
  }
  if (direct) {
    const GEMM_S alpha = (GEMM_S)g->alpha;
    GEMM_S *c = (GEMM_S *)g->C + i0 * g->ldc + j0;
    for (int32_t i = 0; i < m;) {
      const int32_t r = rows + (higher-- > 0);
      tile[r](a, lda, b, ldb, g->K, last, alpha == 1 ? NULL : &alpha, c, g->ldc);
      a += r * lda, c += r * g->ldc, i += r;
    }
    return;
  }
  GEMM_S t[12 * 4 * L] __attribute__((aligned(64)));
  for (int32_t i = 0; i < m;) {
    const int32_t r = rows + (higher-- > 0), pitch = v * L;
    tile[r](a, lda, b, ldb, g->K, last, NULL, t, pitch);
    GEMM_F(finish)(g, i0 + i, j0, r, w, t, pitch, NULL, 0);
    a += r * lda, i += r;
  }
}

// The same of at most v vectors, with B where it lies or in a panel.
GEMM_INLINE void GEMM_F(small_panel)(const ridge_gemm_args *g, int direct, const GEMM_S *a, int64_t lda, const GEMM_S *b,
                                     int64_t ldb, int64_t i0, int32_t m, int64_t j0, int32_t w, int v) {
  const int kind = w < GEMM_LANES ? 0 : v;
  GEMM_F(small_down)(g, direct, GEMM_F(small_tiles)[kind], GEMM_F(small_rows)[kind], a, lda, b, ldb, kind ? w - GEMM_LANES : w, i0, m, j0, w, v);
}

// Rows i0 .. i0+m-1 and columns j0 .. j0+n-1 of C, with panels of B copied to `room` (small_bytes), or where K is short to the stack. A of 16 bits
// is widened there, so many rows at a time.
GEMM_NOINLINE void GEMM_F(small_staged)(const ridge_gemm_args *g, GEMM_S *room, int64_t i0, int32_t m, int64_t j0, int32_t n) {
  enum { L = GEMM_LANES };
  GEMM_S near[GEMM_SMALL_K * GEMM_NR] __attribute__((aligned(64))), *bp = room ? room : near;
  const int direct = GEMM_C_IS_S && GEMM_F(only_scaled)(g);
  const GEMM_T *from = (const GEMM_T *)g->A + i0 * g->lda;
#if GEMM_SAME
  const int64_t lda = g->lda;
  const int32_t most = m;
#else
  GEMM_S close[GEMM_SMALL_A] __attribute__((aligned(64))), *wide = room ? room + g->K * GEMM_SLIM_PANELS * GEMM_NR : close;
  const int64_t lda = g->K;
  const int32_t run = g->lda == g->K ? m : 1; // rows that lie one behind another
  const int32_t most = room ? GEMM_SLIM_WIDE : (int32_t)(GEMM_SMALL_A / gemm_most(lda, 1));
#endif
  // Columns whose panels are held at once: more than one panel's where A would else be widened again for each.
  const int32_t most_n = m <= most ? GEMM_NR : room ? GEMM_SLIM_PANELS * GEMM_NR : (int32_t)(GEMM_SMALL_K / gemm_most(g->K, 1)) * GEMM_NR;
  for (int32_t j = 0; j < n; j += most_n) {
    const int32_t cols = (int32_t)gemm_min(most_n, n - j);
    GEMM_F(pack_b)(bp, (const GEMM_T *)g->B + (g->trans_b ? (j0 + j) * g->ldb : j0 + j), g->ldb, g->trans_b, cols, g->K);
    for (int32_t i = 0, rows; i < m; i += rows) {
      rows = (int32_t)gemm_min(most, m - i);
#if GEMM_SAME
      const GEMM_S *a = from;
#else
      const GEMM_S *a = wide;
      if (j == 0 || rows < m)
        for (int32_t r = 0; r < rows; r += run) GEMM_F(widened)(wide + r * lda, from + (i + r) * g->lda, lda * gemm_min(run, rows - r));
#endif
      for (int32_t q = 0; q < cols; q += GEMM_NR) {
        const int32_t w = (int32_t)gemm_min(GEMM_NR, cols - q);
        GEMM_F(small_panel)(g, direct, a, lda, bp + q * g->K, GEMM_NR, i0 + i, rows, j0 + j + q, w, (w + L - 1) / L);
      }
    }
  }
}

// The same with B where it lies.
GEMM_NOINLINE void GEMM_F(small_direct)(const ridge_gemm_args *g, int64_t i0, int32_t m, int64_t j0, int32_t n) {
  enum { L = GEMM_LANES };
  const int direct = GEMM_F(only_scaled)(g);
  const GEMM_S *a = (const GEMM_S *)g->A + i0 * g->lda, *b = (const GEMM_S *)g->B + j0;
#if !defined(GEMM_SMALL_LOADS) && defined(GEMM_SMALL_HALF)
  const int32_t rest = n % L;
#endif
#ifdef GEMM_SMALL_COLUMN
  if (GEMM_F(ends_in_column)(g) && j0 + n == g->N) {
    GEMM_F(small_column)(g, direct, a, b + n - 1, i0, m, j0 + n - 1);
    n--;
  }
#endif
#ifdef GEMM_SMALL_LOADS
  if (g->N <= L * 3 / 2) { // by the matrix's width alone, also of what is left beside a last column, so that no number of threads changes a sum
    const int kind = GEMM_PAIR_KIND(n);
    if (n == 0) return;
    if (g->N <= L / 2)
      GEMM_F(half_panel)(g, direct, a, b, i0, m, j0, 0, n);
    else
      GEMM_F(small_down)(g, direct, GEMM_F(pairs)[kind], GEMM_PAIR_ROWS(kind), a, g->lda, b, g->ldb, n, i0, m, j0, n, 1 + kind / 2);
    return;
  }
#elif defined(GEMM_SMALL_HALF)
  else if (rest > 0 && rest <= L / 2 && n < GEMM_HALF_WIDE) { // moved over no other column: pairs of k (GEMM_COVE) go by the width alone; elsewhere sums have one order whatever the tile
    const int v = n / L & 1, w = v * L + rest;
    GEMM_F(half_panel)(g, direct, a, b + n - w, i0, m, j0 + n - w, v, rest);
    n -= w;
  }
#endif
  int32_t vectors = (n + L - 1) / L;
  for (int32_t j = 0; j < n;) {
#ifdef GEMM_COVE // as wide as 4 and about equal: an element of A is read once for up to 4 vectors
    // Not so wide where that makes one tile of all rows, or two of 13 to 16: B is read once, or twice. 8x300x1000, 7x600x600 1.29, 16x500x500 1.07; 10x300x300 0.94.
    // From L1 it may be read again where loads bind: 16x64x64 1.07, 8x64x64, 16x64x128, 16x100x90 1.10, 14x64x64 1.15.
    const int wide = m <= 6 || m > 16 || GEMM_SMALL_IS_NEAR(g) ? 4 : m <= 8 || m > 12 ? 3 : GEMM_SMALL_ONCE(g) ? 2 : 4;
    int v = vectors;
    if (v > wide) { // the loads of a tile would wait for the divisions
      const int panels = (vectors + wide - 1) / wide;
      v = (vectors + panels - 1) / panels;
    }
#else // Panels of 2 vectors, one of 3 where their number is odd; wider ones for few rows.
    int v = m <= 2 ? 4 : vectors & 1 || (m <= 4 && vectors > 4) ? 3 : 2;
#endif
    if (v > vectors) v = vectors;
    const int32_t w = (int32_t)gemm_min(v * L, n - j);
    if (w < L && j > 0) { // one vector is left: move it back
      GEMM_F(small_panel)(g, direct, a, g->lda, b + n - L, g->ldb, i0, m, j0 + n - L, L, 1);
      return;
    }
    GEMM_F(small_panel)(g, direct, a, g->lda, b + j, g->ldb, i0, m, j0 + j, w, v);
    j += w, vectors -= v;
  }
}

GEMM_INLINE void GEMM_F(small_part)(const ridge_gemm_args *g, GEMM_S *room, int64_t i0, int64_t m, int64_t j0, int64_t n) {
  if (m <= 0 || n <= 0) return;
  if (!GEMM_SAME || g->trans_b)
    GEMM_F(small_staged)(g, room, i0, (int32_t)m, j0, (int32_t)n);
#if GEMM_SAME
  else { // by rows whose part of C stays in L2 from one panel of B to the next
    const int64_t most = gemm_most(GEMM_SLIM_C / (n * (int64_t)sizeof(GEMM_S)) / 48, 1) * 48; // whole tiles of any height
    for (int64_t i = 0; i < m; i += most) GEMM_F(small_direct)(g, i0 + i, (int32_t)gemm_min(most, m - i), j0, (int32_t)n);
  }
#endif
}

// How many threads share a product.
RIDGE_INLINE int GEMM_F(small_busy)(const ridge_gemm_args *g, int nthreads) {
  const int64_t worth = 1 + g->M * g->N * g->K / GEMM_SMALL_SHARE;
  return nthreads > worth ? (int)worth : nthreads;
}
