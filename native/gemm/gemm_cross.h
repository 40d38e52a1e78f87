// Rows of A against rows of B, both where they lie (template, after gemm_small.h): B stored [N,K], few columns or few rows, and both in the caches.
// Nothing is packed, copied or turned: tiles of up to 6 x 4 dot products (4 x 3 where registers are 16) take vectors along K of either side, and the lanes of the
// sums are added behind the loop.
//
// A tile of 6 x 4 has 24 multiply-adds and 10 loads a step, of which rows that begin anywhere make 20 lines, so its loop runs at the rate of multiply-adds from
// L1; its end adds the lanes of 24 vectors, some 80 instructions, which K = 64 pays with a half of the rate and K = 768 with a tenth. The way of few rows (gemm_dots.h) copies A first and takes 12 columns at a
// time; turning B (gemm_small.h) costs an element of B some 2 instructions and fills no vector where columns are few.
// Every sum takes its own products in the order of K whichever tile it is in, so no number of threads changes it.
// Tiles of 4 x 4 reached 0.8 to 0.95 of these rates; more: docs/kernels/gemm.md.
#if GEMM_SAME
#if GEMM_VEC == 32
#define GEMM_CROSS_ROWS 4
#define GEMM_CROSS_COLS 3
#else
#define GEMM_CROSS_ROWS 6
#define GEMM_CROSS_COLS 4
#endif

// t[r*ld + q] = sum over k of a[r][k]*b[q][k].
GEMM_INLINE void GEMM_F(cross_tile)(const int R, const int Q, const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb, int64_t K, GEMM_S *t, int64_t ld) {
  typedef GEMM_F(vec) V;
  enum { L = GEMM_LANES };
  const int64_t whole = K / L * L;
  V s[GEMM_CROSS_ROWS * GEMM_CROSS_COLS];
  RIDGE_UNROLL_FULL for (int i = 0; i < R * Q; i++) s[i] = (V){0};
  for (int64_t k = 0; k < whole; k += L) {
    V y[4];
    RIDGE_UNROLL_FULL for (int q = 0; q < Q; q++) y[q] = *(const GEMM_F(vecu) *)(b + q * ldb + k);
    RIDGE_UNROLL_FULL for (int r = 0; r < R; r++) {
      const V x = *(const GEMM_F(vecu) *)(a + r * lda + k);
      RIDGE_UNROLL_FULL for (int q = 0; q < Q; q++) s[r * Q + q] = x * y[q] + s[r * Q + q];
    }
  }
  if (whole < K) {
    const GEMM_LANES_OF in = GEMM_F(lanes_of)(K - whole);
    V y[4];
    RIDGE_UNROLL_FULL for (int q = 0; q < Q; q++) GEMM_F(load_lanes)(&y[q], b + q * ldb + whole, in);
    RIDGE_UNROLL_FULL for (int r = 0; r < R; r++) {
      V x;
      GEMM_F(load_lanes)(&x, a + r * lda + whole, in);
      RIDGE_UNROLL_FULL for (int q = 0; q < Q; q++) s[r * Q + q] = x * y[q] + s[r * Q + q];
    }
  }
  if (Q == 4) { // a row of sums at a time
    RIDGE_UNROLL_FULL for (int r = 0; r < R; r++) GEMM_F(dots_lanes)(t + r * ld, &s[r * Q], &s[r * Q + 1], &s[r * Q + 2], &s[r * Q + 3], 0);
    return;
  }
  GEMM_S u[GEMM_CROSS_ROWS * GEMM_CROSS_COLS + 3];
  RIDGE_UNROLL_FULL for (int i = 0; i < R * Q; i += 4) {
    const int last = R * Q - 1;
    GEMM_F(dots_lanes)(u + i, &s[i], &s[i + 1 < last ? i + 1 : last], &s[i + 2 < last ? i + 2 : last], &s[i + 3 < last ? i + 3 : last], 0);
  }
  RIDGE_UNROLL_FULL for (int i = 0; i < R * Q; i++) t[i / Q * ld + i % Q] = u[i];
}

typedef void (*GEMM_F(cross_fn))(const GEMM_S *, int64_t, const GEMM_S *, int64_t, int64_t, GEMM_S *, int64_t);
#define GEMM_CROSS(R, Q)                                                                                                               \
  GEMM_NOINLINE void GEMM_F(cross_##R##_##Q)(const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb, int64_t K, GEMM_S *t, int64_t ld) { \
    GEMM_F(cross_tile)(R, Q, a, lda, b, ldb, K, t, ld);                                                                                \
  }
#define GEMM_CROSS_LOW(Q) GEMM_CROSS(1, Q) GEMM_CROSS(2, Q) GEMM_CROSS(3, Q) GEMM_CROSS(4, Q)
#define GEMM_CROSS_NAMES(Q) NULL, GEMM_F(cross_1_##Q), GEMM_F(cross_2_##Q), GEMM_F(cross_3_##Q), GEMM_F(cross_4_##Q)
#if GEMM_CROSS_ROWS == 6
#define GEMM_CROSS_ALL(Q) GEMM_CROSS_LOW(Q) GEMM_CROSS(5, Q) GEMM_CROSS(6, Q)
#define GEMM_CROSS_ENTRY(Q) {GEMM_CROSS_NAMES(Q), GEMM_F(cross_5_##Q), GEMM_F(cross_6_##Q)}
GEMM_CROSS_ALL(1) GEMM_CROSS_ALL(2) GEMM_CROSS_ALL(3) GEMM_CROSS_ALL(4)
static const GEMM_F(cross_fn) GEMM_F(cross_tiles)[][7] = {{NULL}, GEMM_CROSS_ENTRY(1), GEMM_CROSS_ENTRY(2), GEMM_CROSS_ENTRY(3), GEMM_CROSS_ENTRY(4)};
#undef GEMM_CROSS_ALL
#undef GEMM_CROSS_ENTRY
#else
GEMM_CROSS_LOW(1) GEMM_CROSS_LOW(2) GEMM_CROSS_LOW(3)
static const GEMM_F(cross_fn) GEMM_F(cross_tiles)[][5] = {{NULL}, {GEMM_CROSS_NAMES(1)}, {GEMM_CROSS_NAMES(2)}, {GEMM_CROSS_NAMES(3)}};
#endif
#undef GEMM_CROSS
#undef GEMM_CROSS_LOW
#undef GEMM_CROSS_NAMES

// Rows i0 .. i1-1 and columns j0 .. j1-1 of C: one tile.
RIDGE_INLINE void GEMM_F(cross_one)(const ridge_gemm_args *g, int bare, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  GEMM_S t[GEMM_CROSS_ROWS * GEMM_CROSS_COLS];
  const int64_t n = j1 - j0;
  GEMM_F(cross_tiles)[n][i1 - i0]((const GEMM_S *)g->A + i0 * g->lda, g->lda, (const GEMM_S *)g->B + j0 * g->ldb, g->ldb, g->K,
                                  bare ? (GEMM_S *)g->C + i0 * g->ldc + j0 : t, bare ? g->ldc : n);
  if (!bare) GEMM_F(finish)(g, i0, j0, i1 - i0, n, t, n, NULL, 0);
}

// Tiles as even as they can be; the larger side outside, so that the smaller stays near.
GEMM_NOINLINE void GEMM_F(cross_part)(const ridge_gemm_args *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  const int bare = GEMM_F(only_scaled)(g) && g->alpha == 1;
  const int64_t m = i1 - i0, n = j1 - j0, down = (m + GEMM_CROSS_ROWS - 1) / GEMM_CROSS_ROWS, across = (n + GEMM_CROSS_COLS - 1) / GEMM_CROSS_COLS;
  for (int64_t o = 0; o < (m > n ? down : across); o++)
    for (int64_t i = 0; i < (m > n ? across : down); i++) {
      const int64_t r = m > n ? o : i, c = m > n ? i : o;
      GEMM_F(cross_one)(g, bare, i0 + m * r / down, i0 + m * (r + 1) / down, j0 + n * c / across, j0 + n * (c + 1) / across);
    }
}

// One thread's share of one product.
RIDGE_INLINE void GEMM_F(cross_share)(const ridge_gemm_args *g, int tid, int nthreads) {
  const int busy = GEMM_F(small_busy)(g, nthreads), rows = g->M >= g->N;
  int64_t from, to;
  if (tid >= busy) return;
  ridge_share(rows ? g->M : g->N, rows ? GEMM_CROSS_ROWS : GEMM_CROSS_COLS, tid, busy, &from, &to);
  if (from < to) GEMM_F(cross_part)(g, rows ? from : 0, rows ? to : g->M, rows ? 0 : from, rows ? g->N : to);
}

// Whether a product goes this way: by steps of multiply-adds. An element of C costs its share of the tile's steps and the end of its sum, together more where tiles
// have less than 4 columns; beside turned panels of B an element costs as many steps, but panels multiply what fills their last vector too, and turning a vector of B is as much
// as one step, half where columns fill several. Found on grids of 13 x 13 shapes and K of 32 to 3000, one thread of Emerald Rapids: docs/kernels/gemm.md.
RIDGE_INLINE int GEMM_F(is_cross)(const ridge_gemm_args *g) {
  enum { L = GEMM_LANES, END = GEMM_VEC == 32 ? 33 : 26 }; // sixths of a step
  const int64_t size = sizeof(GEMM_S), M = g->M, N = g->N, K = g->K;
  if (!g->trans_b || M < 2 || N < 2 || M > 1 << 24 || N > 1 << 12 || K < 2 * L || N * K * size > 3 * GEMM_SLIM_B) return 0;
  if (M <= 3 && (K > GEMM_SMALL_K || N > 512) && N > (K * size > 4096 ? 8 : 16)) return 0; // one column at a time then: gemm_dots.h
  if (K * size > 3200 && N > 4 && (M > GEMM_DOTS_MAX || N > 32)) return 0;                  // a tile's rows fill L1
  const int64_t fifths = GEMM_CROSS_COLS == 4 && N % 4 ? 7 : 5, filled = (N + L - 1) / L * L;
  return fifths * M * N * (6 * K + END * L) < 30 * K * (M * filled + L * N / (N > L ? 2 : 1));
}
#else
RIDGE_INLINE int GEMM_F(is_cross)(const ridge_gemm_args *g) { return (void)g, 0; }
#endif
