// Few rows (M <= GEMM_THIN_MAX) against B stored [K,N]: B is read once, straight from memory,
// without packing (template, after gemm_epilogue.h; macros as gemm_fma.h). B stored [N,K]: gemm_dots.h.
// Memory-bound: 2M FLOP per element of B.
//
// Rows of B stream by, four at a time, over a chunk of N whose sums fill half of L1.
// The rows lie a pitch apart, so that no hardware prefetcher finds the next four: they are
// asked for while these four are worked on. fp32 1x4096x4096 on one Zen 3 core, of the rate of
// a plain read: 0.60 by chunks of 512 bytes, 0.80 with prefetch and 4 KiB, 1.0 with 16 KiB.
// On AVX2 one or two rows of A take eight rows of B at a time, and leave it to the hardware to follow so many streams: Zen 3, one thread, two rows of A
// 1.04 to 1.07, one row 1.17 to 1.23 (4096x4096) and 1.22 (1000x8192) times as fast as by four that ask; three rows 0.93, bf16 0.90. Where B lies in L3 four rows
// that ask for nothing: 1, 2, 3, 4 and 8 rows of 1024x1024 1.04, 1.25, 1.20, 1.18 and 1.10 to 1.18, of fp64 1.48 and (4 rows) 1.11; but 16 MiB with 4 rows 0.87 to 0.95, and
// rows of 256 elements 0.95. (A plain read of 64 MiB: 15.4 GB/s as one stream, 20.5 as four; eight rows that ask for the next eight 16.7, that ask for nothing 19.8.)
// Threads share N.

// Adds rows k .. k+r-1 of B (r = 1, 4 or 8) times m rows of A to the sums; ask: for the next ones.
GEMM_TEMPLATE void GEMM_F(thin_rows)(const ridge_gemm_args *g, int64_t k, const int r, const int ask, const int m, int64_t j0, int64_t n,
                                   GEMM_S *sum, int64_t ld) {
  typedef GEMM_F(vec) V;
  const GEMM_T *b = (const GEMM_T *)g->B + k * g->ldb + j0;
  GEMM_S x[3][8];
  for (int i = 0; i < m; i++)
    for (int q = 0; q < r; q++) x[i][q] = GEMM_LOADS(((const GEMM_T *)g->A)[i * g->lda + k + q]);
  const int64_t ahead = k + 2 * r <= g->K ? r * g->ldb : 0; // the next rows, none at the end
  int64_t j = 0;
  for (; j + GEMM_LANES <= n; j += GEMM_LANES) {
    V s[3];
    if (ask && j * (int64_t)sizeof(GEMM_T) % 64 < GEMM_LANES * (int64_t)sizeof(GEMM_T))
      for (int q = 0; q < r; q++) __builtin_prefetch(b + q * g->ldb + ahead + j);
    for (int i = 0; i < m; i++) s[i] = *(const V *)(sum + i * ld + j);
    for (int q = 0; q < r; q++) {
      V v = GEMM_LOADV(b + q * g->ldb + j);
      for (int i = 0; i < m; i++) s[i] = x[i][q] * v + s[i];
    }
    for (int i = 0; i < m; i++) *(V *)(sum + i * ld + j) = s[i];
  }
  for (; j < n; j++)
    for (int q = 0; q < r; q++)
      for (int i = 0; i < m; i++) sum[i * ld + j] += x[i][q] * (GEMM_S)GEMM_LOADS(b[q * g->ldb + j]);
}

// Whether B (bytes) comes from memory; where it lies in a cache, AVX2 does not ask for its rows.
#define GEMM_THIN_FAR(g) ((g)->K * (g)->N * (int64_t)sizeof(GEMM_T) > 16 << 20)
#define GEMM_THIN_ASKS(g) (GEMM_MR != 6 || GEMM_THIN_FAR(g) || ((g)->M > 2 && (g)->K * (g)->N * (int64_t)sizeof(GEMM_T) > 8 << 20) || (g)->N < 1024)
GEMM_TEMPLATE void GEMM_F(thin_m)(const ridge_gemm_args *g, const int m, int64_t from, int64_t to) {
  enum { UNITS = 16384 / (int)sizeof(GEMM_S) / 64 };
  const int64_t CHUNK = UNITS / m * 64;
  GEMM_S sum[UNITS * 64] __attribute__((aligned(64)));
  for (int64_t j = from; j < to; j += CHUNK) {
    const int64_t n = gemm_min(CHUNK, to - j);
    memset(sum, 0, sizeof sum);
    int64_t k = 0;
#if GEMM_MR == 6
    if (m <= 2 && sizeof(GEMM_T) >= 4 && GEMM_THIN_FAR(g))
      for (; k + 8 <= g->K; k += 8) GEMM_F(thin_rows)(g, k, 8, 0, m, j, n, sum, CHUNK);
    if (!GEMM_THIN_ASKS(g))
      for (; k + 4 <= g->K; k += 4) GEMM_F(thin_rows)(g, k, 4, 0, m, j, n, sum, CHUNK);
#endif
    for (; k + 4 <= g->K; k += 4) GEMM_F(thin_rows)(g, k, 4, 1, m, j, n, sum, CHUNK);
    for (; k < g->K; k++) GEMM_F(thin_rows)(g, k, 1, 0, m, j, n, sum, CHUNK);
    GEMM_F(finish)(g, 0, j, m, n, sum, CHUNK, NULL, 0);
  }
}

// Up to GEMM_THIN_MAX rows of A: four rows of B, two vectors of each in registers, times all rows of
// A. Per row of A: 2 loads and 2 stores of sums, 4 broadcasts, 8 multiply-adds, which bind. On one
// Zen 3 core, against B packed in panels, whose strided reading binds at 7 GB/s: 4x4096x4096 is 2.3
// times as fast, 8 rows 1.7 times, 16 rows the same.
GEMM_TEMPLATE void GEMM_F(thin_steps)(const GEMM_T *b, int64_t ldb, int64_t ahead, const GEMM_S *x, int64_t m, const int q4, const int ask,
                                    int64_t n, GEMM_S *sum, int64_t ld) {
  typedef GEMM_F(vec) V;
  enum { L = GEMM_LANES };
  int64_t j = 0;
  for (; j + 2 * L <= n; j += 2 * L) {
    V v[4][2];
    for (int q = 0; q < q4; q++) {
      if (ask) __builtin_prefetch(b + q * ldb + ahead + j);
      v[q][0] = GEMM_LOADV(b + q * ldb + j), v[q][1] = GEMM_LOADV(b + q * ldb + j + L);
    }
    for (int64_t i = 0; i < m; i++) {
      V *s = (V *)(sum + i * ld + j), s0 = s[0], s1 = s[1];
      for (int q = 0; q < q4; q++) s0 = x[i * 4 + q] * v[q][0] + s0, s1 = x[i * 4 + q] * v[q][1] + s1;
      s[0] = s0, s[1] = s1;
    }
  }
  for (; j < n; j++)
    for (int q = 0; q < q4; q++) {
      const GEMM_S v = GEMM_LOADS(b[q * ldb + j]);
      for (int64_t i = 0; i < m; i++) sum[i * ld + j] += x[i * 4 + q] * v;
    }
}

//
// The sums fill half of L1, but where B comes from memory, runs of 16 KiB matter more: with sums in L2 Zen 4
// reads B at 19 for 16 GB/s with one thread (1.18) and 1.05 to 1.15 times as fast with two; in L3 it would lose a fifth.
// Zen 3, one thread, 4 and 8 rows of 4096x4096: 1.26 and 1.30 times as fast.
GEMM_NOINLINE void GEMM_F(thin_many)(const ridge_gemm_args *g, int64_t from, int64_t to) {
  enum { LONG = GEMM_EXACT ? 4 : 1, UNITS = LONG * 16384 / (int)sizeof(GEMM_S) / 64 };
  const int64_t m = g->M, far = LONG > 1 && GEMM_THIN_FAR(g);
  const int64_t chunk = far ? UNITS / m * 64 : gemm_min(UNITS / LONG / m * 64, GEMM_NR * 64);
  GEMM_S sum[UNITS * 64] __attribute__((aligned(64))), x[GEMM_THIN_MAX * 4];
  for (int64_t j = from; j < to; j += chunk) {
    const int64_t n = gemm_min(chunk, to - j);
    memset(sum, 0, (size_t)(m * chunk) * sizeof(GEMM_S));
    for (int64_t k = 0; k < g->K; k += 4) {
      const int64_t r = gemm_min(4, g->K - k);
      const GEMM_T *b = (const GEMM_T *)g->B + k * g->ldb + j;
      for (int64_t i = 0; i < m; i++)
        for (int64_t q = 0; q < r; q++) x[i * 4 + q] = GEMM_LOADS(((const GEMM_T *)g->A)[i * g->lda + k + q]);
      if (r == 4 && !GEMM_THIN_ASKS(g))
        GEMM_F(thin_steps)(b, g->ldb, 0, x, m, 4, 0, n, sum, chunk);
      else if (r == 4)
        GEMM_F(thin_steps)(b, g->ldb, k + 8 <= g->K ? 4 * g->ldb : 0, x, m, 4, 1, n, sum, chunk);
      else
        for (int64_t q = 0; q < r; q++) GEMM_F(thin_steps)(b + q * g->ldb, g->ldb, 0, x + q, m, 1, 1, n, sum, chunk);
    }
    GEMM_F(finish)(g, 0, j, m, n, sum, chunk, NULL, 0);
  }
}

GEMM_NOINLINE int GEMM_F(thin)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  int64_t from, to;
  ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &from, &to);
  switch (g->M) {
    case 1: GEMM_F(thin_m)(g, 1, from, to); break;
    case 2: GEMM_F(thin_m)(g, 2, from, to); break;
    case 3: GEMM_F(thin_m)(g, 3, from, to); break;
    default:
      if (g->M > 0) GEMM_F(thin_many)(g, from, to);
  }
  return RIDGE_OK;
}
