// Products of bytes that do not pack A (template, in gemm_dot.h, for 512-bit dot products of bytes): B narrow, or K short.
//
//   each thread, for its rows or columns of C:
//     B's columns in panels of up to 4 vectors, a unit of four K after the other (its L2)
//     for rows by 48: the sums of their bytes where B is flipped; for the panels, for tiles of up to 16 x 1, 12 x 2, 8 x 3, 6 x 4 vectors: A where it lies
//
// A tile reads units of A by one pointer that walks down its rows, as gemm_small_tile.h does and for its reasons. Where K ends within a unit, the last one is the
// last four bytes of a row, and B's has zeros for those that were multiplied before, so no byte beyond a row is read and none is copied; K is at least 4.
// The last vector of columns is moved back to end with them, so that it is stored whole. What is narrower than one vector is stored whole too where the next rows are
// written behind it anyway (C's rows lie one behind another), for a store under a mask that crosses a line takes some 15 cycles more: Emerald Rapids, u8s8 2048x41x32 246 GFLOP/s
// with rows of 41, 458 with a pitch of 48.
//
// Floor of 256x7x33: 256 rows of 9 units, 2304 products of one vector, two a cycle: 0.4 us. Packed, with the last columns stored one by one, it took 12 us on
// Emerald Rapids, so 1.4 to 1.6; with 48 columns of K = 1129 658 to 737 GFLOP/s for 357. Panels of two or three vectors at most: 0.94, 1.0. docs/kernels/gemm.md.

#define GEMM_NARROW
#define GEMM_NARROW_K 4096
#define GEMM_NARROW_ROWS 48 // whole tiles of every width
#ifdef GEMM_FROM_MEMORY
#define GEMM_NARROW_SPREAD 2 // vectors of a tile whose products read A from memory
#else
#define GEMM_NARROW_SPREAD 1 // of two a row takes one load in place of two
#endif
static const int32_t GEMM_F(narrow_high)[5] = {0, 16, 12, 8, 6};
#define GEMM_NARROW_TILES(X) GEMM_SMALL_16(X, 1) GEMM_SMALL_12(X, 2) GEMM_SMALL_8(X, 3) GEMM_SMALL_6(X, 4)

// What all tiles of a panel share. right: the column its last vector begins with; last: its columns; masked: so many rows at a tile's end are stored under a mask.
typedef struct GEMM_F(narrow) {
  int64_t lda, K, right, last, masked, ldc;
} GEMM_F(narrow);

// c[r x v vectors] = rows of A, at a, times a panel of B; fix: what is taken away from each row, or NULL.
GEMM_TEMPLATE void GEMM_F(narrow_tile)(const int r, const int v, const GEMM_F(narrow) *p, const char *a, const char *b, const GEMM_S *fix, GEMM_S *c) {
  typedef GEMM_F(vec) V;
  const int steps = v > 3 ? 1 : v > 1 ? 2 : 4; // of K that go row by row, their vectors of B held
  const int64_t by = p->lda, back = r * by, rest = p->K % 4;
  V s[16][4];
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {
    const V start = (V){0} - (fix ? fix[i] : 0);
    RIDGE_UNROLL_FULL for (int j = 0; j < v; j++) s[i][j] = start;
  }
#if defined(GEMM_MODEL)
#define GEMM_NARROW_MADD(s, from, x, b) GEMM_F(dot)(s, (x)[0], b)
#else // its signed factor may be in memory: A's, but in wide tiles
#define GEMM_NARROW_MADD(s, from, x, b)                                                                                                \
  if (GEMM_FLIP_B && v <= GEMM_NARROW_SPREAD)                                                                                           \
    __asm__(GEMM_MADD("%[x]%{1to16%}", "%[y]", "%[z]") : [z] "+v"(*(s)) : [y] "v"(*(b)), [x] "m"(*(const GEMM_F(u1) *)(from)));     \
  else                                                                                                                                 \
    __asm__(GEMM_MADD("%[x]", "%[y]", "%[z]") : [z] "+v"(*(s)) : [y] "v"(*(b)), [x] "v"(x))
#endif
#define GEMM_NARROW_STEPS(n)                                                                                       \
  {                                                                                                                \
    V bv[4][4];                                                                                                    \
    RIDGE_UNROLL_FULL for (int q = 0; q < n; q++) {                                                                \
      RIDGE_UNROLL_FULL for (int j = 0; j < v; j++) bv[q][j] = *(const V *)(b + (q * v + j) * GEMM_VEC);           \
    }                                                                                                              \
    b += n * v * GEMM_VEC;                                                                                         \
    __asm__("" : "+r"(b));                                                                                         \
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {                                                                \
      RIDGE_UNROLL_FULL for (int q = 0; q < n; q++) {                                                              \
        const V x = (V){0} + *(const GEMM_F(u1) *)(a + q * 4);                                                  \
        RIDGE_UNROLL_FULL for (int j = 0; j < v; j++) { GEMM_NARROW_MADD(&s[i][j], a + q * 4, x, &bv[q][j]); }     \
      }                                                                                                            \
      a += by;                                                                                                     \
      __asm__("" : "+r"(a));                                                                                       \
    }                                                                                                              \
    a += n * 4 - back;                                                                                             \
    __asm__("" : "+r"(a));                                                                                         \
  }
  int64_t u = p->K / 4;
  for (; u >= steps; u -= steps) GEMM_NARROW_STEPS(steps)
  for (; u > 0; u--) GEMM_NARROW_STEPS(1)
  if (rest) {
    a += rest - 4;
    GEMM_NARROW_STEPS(1)
  }
#undef GEMM_NARROW_STEPS
#undef GEMM_NARROW_MADD
  char *to = (char *)c;
  const int64_t down = p->ldc * (int64_t)sizeof *c, right = p->right * (int64_t)sizeof *c, masked = p->masked;
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {
    RIDGE_UNROLL_FULL for (int j = 0; j < v - 1; j++) *(GEMM_F(vecu) *)(to + j * GEMM_VEC) = s[i][j];
    if (v > 1 || i + masked <= r)
      *(GEMM_F(vecu) *)(to + right) = s[i][v - 1];
    else
      GEMM_F(some_to)(to, &s[i][v - 1], p->last * 4, GEMM_VEC);
    to += down;
    __asm__("" : "+r"(to));
  }
}

#define GEMM_NARROW_DEFINE(r, v)                                                                                                                 \
  GEMM_NOINLINE void GEMM_F(narrow_##v##_##r)(const GEMM_F(narrow) *p, const char *a, const char *b, const GEMM_S *fix, GEMM_S *c) { \
    GEMM_F(narrow_tile)(r, v, p, a, b, fix, c);                                                                                                  \
  }
GEMM_NARROW_TILES(GEMM_NARROW_DEFINE)
#undef GEMM_NARROW_DEFINE
typedef void (*GEMM_F(narrow_fn))(const GEMM_F(narrow) *, const char *, const char *, const GEMM_S *, GEMM_S *);
static const GEMM_F(narrow_fn) GEMM_F(narrow_tiles)[5][17] = {
#define GEMM_NARROW_ENTRY(r, v) [v][r] = GEMM_F(narrow_##v##_##r),
    GEMM_NARROW_TILES(GEMM_NARROW_ENTRY)
#undef GEMM_NARROW_ENTRY
};

// Up to 16 columns of B stored [N,K], at b, as units to dst, `apart` bytes from unit to unit.
GEMM_NOINLINE void GEMM_F(narrow_cols)(char *dst, int64_t apart, const GEMM_TB *b, int64_t ldb, int64_t cols, int64_t units) {
  typedef GEMM_F(u16) V;
  for (int64_t u = 0; u < units; u += 16, dst += 16 * apart) {
    const int64_t n = gemm_min(16, units - u);
    const char *s = (const char *)b + u * 4;
    V r[16], t[16];
    RIDGE_UNROLL_FULL for (int i = 0; i < 16; i++) {
      if (i >= cols)
        r[i] = (V){0};
      else if (n == 16)
        r[i] = *(const GEMM_F(u16u) *)s;
      else
        GEMM_F(some_from)(&r[i], s, n * 4, 64);
      if (GEMM_FLIP_B) r[i] ^= 0x80808080u;
      s += ldb;
      __asm__("" : "+r"(s));
    }
    GEMM_F(turned16)(t, r);
    char *to = dst;
    RIDGE_UNROLL_FULL for (int c = 0; c < 16; c++, to += apart)
      if (c < n) *(V *)to = t[c];
  }
}
// A vector of units of four rows of B stored [K,N], of up to 16 columns.
GEMM_INLINE void GEMM_F(narrow_row)(char *dst, const GEMM_TB *b, int64_t ldb, int64_t cols, uint32_t keep) {
  typedef GEMM_F(b16) B;
  typedef GEMM_F(h8) H;
  typedef GEMM_F(u4) U;
  typedef uint8_t BU __attribute__((vector_size(16), aligned(1), may_alias));
  B r[4];
  RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++) {
    if (cols == 16)
      r[q] = *(const BU *)(b + q * ldb);
    else
      GEMM_F(some_from)(&r[q], b + q * ldb, cols, 16);
    if (GEMM_FLIP_B) r[q] ^= 0x80;
  }
#define GEMM_NARROW_ZIP(x, y, o) \
  (H) __builtin_shufflevector(x, y, o, o + 16, o + 1, o + 17, o + 2, o + 18, o + 3, o + 19, o + 4, o + 20, o + 5, o + 21, o + 6, o + 22, o + 7, o + 23)
#define GEMM_NARROW_ZIP2(x, y, o) (U) __builtin_shufflevector(x, y, o, o + 8, o + 1, o + 9, o + 2, o + 10, o + 3, o + 11)
  const H lo = GEMM_NARROW_ZIP(r[0], r[1], 0), lo2 = GEMM_NARROW_ZIP(r[2], r[3], 0);
  const H hi = GEMM_NARROW_ZIP(r[0], r[1], 8), hi2 = GEMM_NARROW_ZIP(r[2], r[3], 8);
  U *to = (U *)dst;
  to[0] = GEMM_NARROW_ZIP2(lo, lo2, 0) & keep, to[1] = GEMM_NARROW_ZIP2(lo, lo2, 4) & keep;
  to[2] = GEMM_NARROW_ZIP2(hi, hi2, 0) & keep, to[3] = GEMM_NARROW_ZIP2(hi, hi2, 4) & keep;
#undef GEMM_NARROW_ZIP
#undef GEMM_NARROW_ZIP2
}

GEMM_NOINLINE void GEMM_F(narrow_rows)(char *dst, int64_t apart, const GEMM_TB *b, int64_t ldb, int64_t cols, int64_t units, uint32_t keep) {
  if (cols == GEMM_LANES)
    for (int64_t u = 0; u < units; u++) GEMM_F(narrow_row)(dst + u * apart, b + u * 4 * ldb, ldb, GEMM_LANES, keep);
  else
    for (int64_t u = 0; u < units; u++) GEMM_F(narrow_row)(dst + u * apart, b + u * 4 * ldb, ldb, cols, keep);
}

// So many columns of B from j on, in whole vectors of which the last is moved back, as a panel.
GEMM_NOINLINE void GEMM_F(narrow_pack)(char *dst, const ridge_gemm_args *g, int64_t j, int64_t cols) {
  enum { L = GEMM_LANES };
  const int64_t units = g->K / 4, rest = g->K % 4, apart = gemm_ceil(cols, L) * 4;
  const uint32_t keep = 0xffffffffu << (8 * (4 - rest) & 31); // of the last four K what is not in a unit before
  const GEMM_TB *b = (const GEMM_TB *)g->B + (g->trans_b ? j * g->ldb : j);
#define GEMM_NARROW_AT(l) ((l) + L > cols && cols > L ? cols - L : (l))
  if (g->trans_b) {
    for (int64_t l = 0; l < cols; l += L) GEMM_F(narrow_cols)(dst + l * 4, apart, b + GEMM_NARROW_AT(l) * g->ldb, g->ldb, gemm_min(L, cols), units);
    if (rest)
      for (int64_t l = 0; l < cols; l += L)
        for (int64_t q = 0; q < gemm_min(L, cols); q++)
          ((uint32_t *)(dst + units * apart))[l + q] = (*(const GEMM_F(u1) *)(b + (GEMM_NARROW_AT(l) + q) * g->ldb + g->K - 4) ^ (GEMM_FLIP_B ? 0x80808080u : 0)) & keep;
    return;
  }
  for (int64_t u = 0; u < units; u += 16) // lines of rows that several vectors lie in stay in L1
    for (int64_t l = 0; l < cols; l += L)
      GEMM_F(narrow_rows)(dst + u * apart + l * 4, apart, b + u * 4 * g->ldb + GEMM_NARROW_AT(l), g->ldb, gemm_min(L, cols), gemm_min(16, units - u), ~0u);
  if (rest)
    for (int64_t l = 0; l < cols; l += L)
      GEMM_F(narrow_rows)(dst + units * apart + l * 4, apart, b + (g->K - 4) * g->ldb + GEMM_NARROW_AT(l), g->ldb, gemm_min(L, cols), 1, keep);
#undef GEMM_NARROW_AT
}

#if GEMM_FLIP_B
// 128 times the sums of m rows of A, written by fours.
GEMM_NOINLINE void GEMM_F(narrow_fix)(GEMM_S *fix, const GEMM_TA *a, int64_t lda, int64_t m, int64_t K) {
  typedef GEMM_F(vec) V;
  const V all = (V){0} + 0x80808080u;
  const int64_t whole = K / GEMM_VEC * GEMM_VEC;
  for (int64_t i = 0; i < m; i += 4) {
    V s[4] = {{0}}, x;
    RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++) {
      const char *row = (const char *)(a + gemm_min(i + q, m - 1) * lda);
      for (int64_t k = 0; k < whole; k += GEMM_VEC) {
        x = *(const GEMM_F(vecu) *)(row + k);
        GEMM_F(dots_madd)(&s[q], &x, &all);
      }
      if (whole < K) {
        GEMM_F(some_from)(&x, row + whole, K - whole, GEMM_VEC);
        GEMM_F(dots_madd)(&s[q], &x, &all);
      }
    }
    GEMM_F(dots_lanes)(fix + i, &s[0], &s[1], &s[2], &s[3], 0);
  }
}
#endif

// Rows i0 .. i0+m-1 and columns j0 .. j0+n-1 of C.
GEMM_NOINLINE void GEMM_F(narrow_part)(const ridge_gemm_args *g, char *room, int64_t i0, int64_t m, int64_t j0, int64_t n) {
  enum { L = GEMM_LANES };
  const int plain = GEMM_F(plain)(g);
  const int64_t units = (g->K + 3) / 4, vectors = (n + L - 1) / L, panels = (vectors + 3) / 4, wide = vectors / panels, more = vectors % panels;
  for (int64_t i = 0, rows; i < m; i += rows) {
    GEMM_S fix[GEMM_NARROW_ROWS], t[24 * L] __attribute__((aligned(64)));
    const GEMM_TA *a = (const GEMM_TA *)g->A + (i0 + i) * g->lda;
    char *b = room;
    rows = gemm_min(GEMM_NARROW_ROWS, m - i);
#if GEMM_FLIP_B
    GEMM_F(narrow_fix)(fix, a, g->lda, rows, g->K);
#endif
    for (int64_t q = 0, j = 0; q < panels; q++) {
      const int v = (int)(wide + (q < more));
      const int64_t cols = gemm_min(v * L, n - j), tiles = (rows + GEMM_F(narrow_high)[v] - 1) / GEMM_F(narrow_high)[v];
      if (i == 0) GEMM_F(narrow_pack)(b, g, j0 + j, cols);
      const int64_t masked = cols >= L || !plain ? 0 : g->ldc == cols ? (L + cols - 1) / cols : 17;
      const GEMM_F(narrow) p = {g->lda, g->K, gemm_most(cols - L, 0), cols, masked, plain ? g->ldc : v * L};
      for (int64_t k = 0, at = 0; k < tiles; k++) {
        const int r = (int)(rows / tiles + (k < rows % tiles));
        GEMM_S *c = plain ? (GEMM_S *)g->C + (i0 + i + at) * g->ldc + j0 + j : t;
        GEMM_F(narrow_tiles)[v][r](&p, (const char *)(a + at * g->lda), b, GEMM_FLIP_B ? fix + at : NULL, c);
        if (!plain) GEMM_F(finish)(g, i0 + i + at, j0 + j, r, cols, t, v * L, NULL, 0);
        at += r;
      }
      b += units * v * GEMM_VEC, j += v * L;
    }
  }
}

// Whether a product goes this way. Elsewhere (Emerald Rapids, one thread, of the other ways' rate, 400 random products of each order of B): B stored [K,N], whose rows
// a fresh tile packs beside its products, of more than 600 columns and K above 64 0.75 to 1.07; B stored [N,K], few rows by dot products along K, 9 to 16 rows
// of K above 1000 0.62 to 0.94, 4 to 8 rows of K above 256 0.42 to 0.9. More than 128 columns of whole panels: 256^3 0.94,
// 3136x256x64 0.83 in either order of B.
RIDGE_INLINE int GEMM_F(is_narrow)(const ridge_gemm_args *g) {
  const int64_t M = g->M, N = g->N, K = g->K;
  if (K < 4 || K > GEMM_NARROW_K || N * K > (M > 32 ? 1 << 20 : 1 << 19) || (g->mc | g->kc | g->nc) || g->packing) return 0;
  if (N > 128 && N % GEMM_NR == 0 && K > 32 && (M > 256 || !g->trans_b)) return 0; // whole panels, which pay for packing A
  if (g->trans_b) return K <= 256 ? M > 1 : M > (K <= 1000 ? 8 : 16);
  return N <= 256 || (N <= 600 && K <= 1000) || (K <= 64 && M > 8);
}

// Whether threads share columns: where each would turn all of B for few rows, and that is more work than rows of C cost whose lines at the border two threads write to.
RIDGE_INLINE int GEMM_F(narrow_columns)(const ridge_gemm_args *g, int64_t nthreads) {
  return g->M < 64 * nthreads && g->N >= 64 * nthreads && g->N * g->K > 1024 * g->M;
}

// Bytes of a thread's panels.
RIDGE_INLINE int64_t GEMM_F(narrow_bytes)(const ridge_gemm_args *g) { return ridge_apart((g->K + 3) / 4 * gemm_ceil(g->N, GEMM_LANES) * 4); }

GEMM_NOINLINE int GEMM_F(run_narrow)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  char *room = (char *)ctx->workspace + ctx->tid * GEMM_F(narrow_bytes)(g);
  int64_t from, to;
  if (GEMM_F(narrow_columns)(g, ctx->nthreads)) {
    ridge_share(g->N, GEMM_LANES, ctx->tid, ctx->nthreads, &from, &to);
    if (from < to) GEMM_F(narrow_part)(g, room, 0, g->M, from, to - from);
  } else {
    ridge_share(g->M, 1, ctx->tid, ctx->nthreads, &from, &to);
    if (from < to) GEMM_F(narrow_part)(g, room, from, to - from, 0, g->N);
  }
  return RIDGE_OK;
}
