// Few rows (M <= GEMM_THIN_MAX) against B stored [K,N]: B is read once, straight from memory,
// without packing (template, after gemm_epilogue.h; macros as gemm_fma.h). B stored [N,K]: gemm_dots.h.
// Memory-bound: 2M FLOP per element of B.
//
// Rows of B stream by, four or eight at a time, over a chunk of N whose sums fill half of L1 (on Zen 4 up to twice all of it).
// The rows lie a pitch apart, so that no hardware prefetcher finds the next four: they are
// asked for while these four are worked on. fp32 1x4096x4096 on one Zen 3 core, of the rate of
// a plain read: 0.60 by chunks of 512 bytes, 0.80 with prefetch and 4 KiB, 1.0 with 16 KiB.
// On AVX2 one or two rows of A take eight rows of B at a time, and leave it to the hardware to follow so many streams: Zen 3, one thread, two rows of A
// 1.04 to 1.07, one row 1.17 to 1.23 (4096x4096) and 1.22 (1000x8192) times as fast as by four that ask; three rows 0.93, bf16 0.90. Where B lies in L3 four rows
// that ask for nothing: 1, 2, 3, 4 and 8 rows of 1024x1024 1.04, 1.25, 1.20, 1.18 and 1.10 to 1.18, of fp64 1.48 and (4 rows) 1.11; but 16 MiB with 4 rows 0.87 to 0.95, and
// rows of 256 elements 0.95. (A plain read of 64 MiB: 15.4 GB/s as one stream, 20.5 as four; eight rows that ask for the next eight 16.7, that ask for nothing 19.8.)
// Threads share N, or K (thin_deep): then each has sums of its own for all of N, and adds up all threads' for its columns behind a barrier.

// What a thread has of B: columns from .. to-1 of rows k0 .. k1-1, at most `run` columns at a time. part: where its sums go, rows ld apart;
// NULL: C is finished from them.
typedef struct GEMM_F(thin_part) {
  int64_t from, to, k0, k1, run;
  GEMM_S *part;
  int64_t ld;
  GEMM_S *sum; // GEMM_THIN_SUMS bytes
} GEMM_F(thin_part);

// The last columns where they fill no vector: the vector that ends with them has sums of its own, of columns that others have summed as well.
#define GEMM_THIN_TAIL(n) ((n) % GEMM_LANES > 0 && (n) > GEMM_LANES)

// Adds r rows of B, its last vector of columns at b, times m rows of x, pitch ldx, to the tail.
GEMM_INLINE void GEMM_F(thin_tail)(const GEMM_T *b, int64_t ldb, const GEMM_S *x, int64_t ldx, int64_t m, const int r, GEMM_S *tail) {
  typedef GEMM_F(vec) V;
  V v[8];
  for (int q = 0; q < r; q++) v[q] = GEMM_LOADV(b + q * ldb);
  for (int64_t i = 0; i < m; i++) {
    V s = *(const V *)(tail + i * GEMM_LANES);
    for (int q = 0; q < r; q++) s = x[i * ldx + q] * v[q] + s;
    *(V *)(tail + i * GEMM_LANES) = s;
  }
}

// Sums of columns j .. j+n-1 of m rows, ld apart.
GEMM_INLINE void GEMM_F(thin_end)(const ridge_gemm_args *g, const GEMM_F(thin_part) *p, int64_t j, int64_t m, int64_t n, GEMM_S *sum, int64_t ld,
                                  const GEMM_S *tail) {
  const int64_t left = n % GEMM_LANES;
  if (GEMM_THIN_TAIL(n))
    for (int64_t i = 0; i < m; i++) memcpy(sum + i * ld + n - left, tail + (i + 1) * GEMM_LANES - left, (size_t)left * sizeof *sum);
  if (!p->part) {
    GEMM_F(finish)(g, 0, j, m, n, sum, ld, NULL, 0);
    return;
  }
  for (int64_t i = 0; i < m; i++) memcpy(p->part + i * p->ld + j, sum + i * ld, (size_t)n * sizeof *sum);
}

// Adds rows k .. k+r-1 of B (r = 1, 4 or 8) times m rows of A to the sums; ask: for the next ones.
GEMM_TEMPLATE void GEMM_F(thin_rows)(const ridge_gemm_args *g, int64_t k, int64_t end, const int r, const int ask, const int m, int64_t j0, int64_t n,
                                   GEMM_S *sum, int64_t ld, GEMM_S *tail) {
  typedef GEMM_F(vec) V;
  const GEMM_T *b = (const GEMM_T *)g->B + k * g->ldb + j0;
  GEMM_S x[3][8];
  for (int i = 0; i < m; i++)
    for (int q = 0; q < r; q++) x[i][q] = GEMM_LOADS(((const GEMM_T *)g->A)[i * g->lda + k + q]);
  const int64_t ahead = k + 2 * r <= end ? r * g->ldb : 0; // the next rows, none at the end
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
  if (GEMM_THIN_TAIL(n)) {
    GEMM_F(thin_tail)(b + n - GEMM_LANES, g->ldb, x[0], 8, m, r, tail);
    return;
  }
  for (; j < n; j++)
    for (int q = 0; q < r; q++)
      for (int i = 0; i < m; i++) sum[i * ld + j] += x[i][q] * (GEMM_S)GEMM_LOADS(b[q * g->ldb + j]);
}

// Whether B (bytes) comes from memory; where it lies in a cache, AVX2 does not ask for its rows.
#define GEMM_THIN_FAR(g) ((g)->K * (g)->N * (int64_t)sizeof(GEMM_T) > 16 << 20)
#define GEMM_THIN_ASKS(g) (GEMM_MR != 6 || GEMM_THIN_FAR(g) || ((g)->M > 2 && (g)->K * (g)->N * (int64_t)sizeof(GEMM_T) > 8 << 20) || (g)->N < 1024)
// Whether rows of B go by eight that ask for nothing. Zen 4, one thread, of four that ask, with 64 KiB of sums for 16 (of 4 rows and more only where B comes from memory): fp32 4096x4096 of 1 to 4 rows 1.09 to 1.13, 1.4, 1.5, 1.3, from
// L3 1024x1024 1.07, 1.1 to 1.4, 1.3, 1.1, 3072x768 1.45, 1.3, 1.3, 1.1; 1x100x4096 1.4; fp64 1000x256 1.57, 1.6, 1.3, 1.17; bf16 4096x4096 of up to 3 rows 1.3. Rows of B of 1000
// elements and less 0.95 to 1.05, bf16 of 1024 0.94 to 1.0.
#if GEMM_MR == 6
#define GEMM_THIN_EIGHT(g, m) ((m) <= 2 && sizeof(GEMM_T) >= 4 && GEMM_THIN_FAR(g))
#elif GEMM_VEC == 64 && !defined(GEMM_COVE)
#define GEMM_THIN_LONG 4 // times 16 KiB of sums beside them
#define GEMM_THIN_EIGHT(g, m) ((g)->N * (int64_t)sizeof(GEMM_T) >= (sizeof(GEMM_T) >= 4 ? 2048 : 4096) && (sizeof(GEMM_T) >= 4 || (m) <= 3))
#else
#define GEMM_THIN_EIGHT(g, m) 0
#endif
#ifndef GEMM_THIN_LONG
#define GEMM_THIN_LONG 1
#endif
// The sums a thread has at a time, in the workspace: on the stack, whose small pages lie anywhere in memory, Zen 4 was at random 1.0 to 1.6 times as slow in one process as in
// another (fp64 4x1000x256).
#define GEMM_THIN_SUMS (GEMM_EXACT ? 4 * 16384 : GEMM_THIN_LONG * 16384)
GEMM_TEMPLATE void GEMM_F(thin_m)(const ridge_gemm_args *g, const int m, const GEMM_F(thin_part) *p) {
  enum { UNITS = 16384 / (int)sizeof(GEMM_S) / 64 };
  const int eight = GEMM_THIN_EIGHT(g, m);
  const int64_t chunk = gemm_min((eight ? GEMM_THIN_LONG * UNITS : UNITS) / m * 64, p->run), end = p->k1;
  GEMM_S *sum = p->sum, tail[3 * GEMM_LANES] __attribute__((aligned(64)));
  for (int64_t j = p->from; j < p->to; j += chunk) {
    const int64_t n = gemm_min(chunk, p->to - j);
    memset(sum, 0, (size_t)(m * chunk) * sizeof(GEMM_S));
    memset(tail, 0, sizeof tail);
    int64_t k = p->k0;
    if (eight)
      for (; k + 8 <= end; k += 8) GEMM_F(thin_rows)(g, k, end, 8, 0, m, j, n, sum, chunk, tail);
    if (!GEMM_THIN_ASKS(g))
      for (; k + 4 <= end; k += 4) GEMM_F(thin_rows)(g, k, end, 4, 0, m, j, n, sum, chunk, tail);
    for (; k + 4 <= end; k += 4) GEMM_F(thin_rows)(g, k, end, 4, 1, m, j, n, sum, chunk, tail);
    for (; k < end; k++) GEMM_F(thin_rows)(g, k, end, 1, 0, m, j, n, sum, chunk, tail);
    GEMM_F(thin_end)(g, p, j, m, n, sum, chunk, tail);
  }
}

// Up to GEMM_THIN_MAX rows of A: four rows of B, two vectors of each in registers, times all rows of
// A. Per row of A: 2 loads and 2 stores of sums, 4 broadcasts, 8 multiply-adds, which bind. On one
// Zen 3 core, against B packed in panels, whose strided reading binds at 7 GB/s: 4x4096x4096 is 2.3
// times as fast, 8 rows 1.7 times, 16 rows the same.
GEMM_TEMPLATE void GEMM_F(thin_steps)(const GEMM_T *b, int64_t ldb, int64_t ahead, const GEMM_S *x, int64_t m, const int r, const int ask,
                                    int64_t n, GEMM_S *sum, int64_t ld, GEMM_S *tail) {
  typedef GEMM_F(vec) V;
  enum { L = GEMM_LANES };
  int64_t j = 0;
  for (; j + 2 * L <= n; j += 2 * L) {
    V v[8][2];
    for (int q = 0; q < r; q++) {
      if (ask) __builtin_prefetch(b + q * ldb + ahead + j);
      v[q][0] = GEMM_LOADV(b + q * ldb + j), v[q][1] = GEMM_LOADV(b + q * ldb + j + L);
    }
    for (int64_t i = 0; i < m; i++) {
      V *s = (V *)(sum + i * ld + j), s0 = s[0], s1 = s[1];
      for (int q = 0; q < r; q++) s0 = x[i * 8 + q] * v[q][0] + s0, s1 = x[i * 8 + q] * v[q][1] + s1;
      s[0] = s0, s[1] = s1;
    }
  }
  for (; j + L <= n; j += L) {
    V v[8];
    for (int q = 0; q < r; q++) v[q] = GEMM_LOADV(b + q * ldb + j);
    for (int64_t i = 0; i < m; i++)
      for (int q = 0; q < r; q++) *(V *)(sum + i * ld + j) = x[i * 8 + q] * v[q] + *(const V *)(sum + i * ld + j);
  }
  if (GEMM_THIN_TAIL(n)) {
    GEMM_F(thin_tail)(b + n - L, ldb, x, 8, m, r, tail);
    return;
  }
  for (; j < n; j++)
    for (int q = 0; q < r; q++) {
      const GEMM_S v = GEMM_LOADS(b[q * ldb + j]);
      for (int64_t i = 0; i < m; i++) sum[i * ld + j] += x[i * 8 + q] * v;
    }
}

// The sums fill half of L1, but where B comes from memory, runs of 16 KiB matter more: with sums in L2 Zen 4
// reads B at 19 for 16 GB/s with one thread (1.18) and 1.05 to 1.15 times as fast with two; in L3 it would lose a fifth.
// Zen 3, one thread, 4 and 8 rows of 4096x4096: 1.26 and 1.30 times as fast.
GEMM_NOINLINE void GEMM_F(thin_many)(const ridge_gemm_args *g, const GEMM_F(thin_part) *p) {
  enum { LONG = GEMM_EXACT ? 4 : 1, UNITS = LONG * 16384 / (int)sizeof(GEMM_S) / 64 };
  const int64_t m = g->M, far = LONG > 1 && GEMM_THIN_FAR(g);
  const int eight = GEMM_THIN_EIGHT(g, m);
  const int64_t chunk = gemm_min(far ? UNITS / m * 64 : gemm_min(UNITS / LONG / m * 64, GEMM_NR * 64), p->run);
  GEMM_S *sum = p->sum, tail[GEMM_THIN_MAX * GEMM_LANES] __attribute__((aligned(64))), x[GEMM_THIN_MAX * 8];
  for (int64_t j = p->from; j < p->to; j += chunk) {
    const int64_t n = gemm_min(chunk, p->to - j);
    memset(sum, 0, (size_t)(m * chunk) * sizeof(GEMM_S));
    memset(tail, 0, sizeof tail);
    for (int64_t k = p->k0, r; k < p->k1; k += r) {
      r = eight && p->k1 - k >= 8 ? 8 : gemm_min(4, p->k1 - k);
      const GEMM_T *b = (const GEMM_T *)g->B + k * g->ldb + j;
      for (int64_t i = 0; i < m; i++)
        for (int64_t q = 0; q < r; q++) x[i * 8 + q] = GEMM_LOADS(((const GEMM_T *)g->A)[i * g->lda + k + q]);
      if (eight && r == 8)
        GEMM_F(thin_steps)(b, g->ldb, 0, x, m, 8, 0, n, sum, chunk, tail);
      else if (r == 4 && !GEMM_THIN_ASKS(g))
        GEMM_F(thin_steps)(b, g->ldb, 0, x, m, 4, 0, n, sum, chunk, tail);
      else if (r == 4)
        GEMM_F(thin_steps)(b, g->ldb, k + 8 <= p->k1 ? 4 * g->ldb : 0, x, m, 4, 1, n, sum, chunk, tail);
      else
        for (int64_t q = 0; q < r; q++) GEMM_F(thin_steps)(b + q * g->ldb, g->ldb, 0, x + q, m, 1, 1, n, sum, chunk, tail);
    }
    GEMM_F(thin_end)(g, p, j, m, n, sum, chunk, tail);
  }
}

// Bytes of a thread's sums where the threads share K, else 0: where they would have few or no columns, and where their L2 caches of
// 2 MiB hold B, or most of it, together. There half of every row, rows a power of two apart, would leave half of L2's sets to a thread, and
// short rows end before the prefetchers have found them. Emerald Rapids, two threads, one row of A, of the rate of a shared N: 1024x1024 1.50 to 1.69,
// 1000x1000 1.38, 512x1024 1.75, 1280x1024 1.23 to 1.40, and 1.0 for 1536x1024; of 640x640 (0.8 MiB for each) 0.9 to 0.99.
RIDGE_INLINE int64_t GEMM_F(thin_deep)(const ridge_gemm_args *g, int64_t nthreads) {
  const int64_t bytes = g->K * g->N * (int64_t)sizeof(GEMM_T);
#ifdef GEMM_COVE
  const int near = bytes >= nthreads << 20 && bytes <= nthreads * (3 << 20);
#else
  const int near = 0;
#endif
  const int narrow = g->N < 64 * nthreads && bytes > 64 << 10;
  if (nthreads <= 1 || g->K < 64 * g->M * nthreads || !(near || narrow)) return 0; // the sums are little beside a thread's rows of B
  return ridge_apart(g->M * gemm_ceil(g->N, 16) * (int64_t)sizeof(GEMM_S));
}

// Whether a product goes this way: where exact tiles pack B as they go (gemm_fma.h), up to 4 rows, but all of GEMM_THIN_MAX against so many bytes of B that they come from
// memory, where a variant defines GEMM_THIN_MEMORY: the first tiles read B by 128 bytes of a row. Ice Lake, one thread, of those tiles' rate, 5, 6 and 8 rows: fp32 4096x4096 1.31,
// 1.52, 1.19, 2048x8192 1.59, 1.55, 1.43, 2048x2048 5 1.45, 8 1.27, 2048x1024 1.22, 1.13, 0.94; fp64 4096x4096 1.59, 1.50, 1.30, 1024x1024 5 1.29, 8 1.00; bf16 4096x4096
// 2.31, 2.16, 1.67, 2048x2048 1.72, 1.62, 1.36, 1400x1400 5 1.09, 8 0.77.
#ifndef GEMM_THIN_MEMORY
#define GEMM_THIN_MEMORY INT64_MAX
#endif
#if GEMM_SAME && GEMM_VEC == 64 && !defined(GEMM_COVE)
// Zen 4, by eight rows: 5, 6, 7 and 8 rows of 1500x1500 1.63, 1.41, 1.22 and 1.11, of fp64 1000x1000 and 3072x768 1.6, 1.4, -, 1.1; from memory fp32 2000x3000 1.39, 1.19, 1.04
// and 0.91, 4096x4096, whose rows meet in one set of L1, 1.02, 0.96, -, 0.87.
#define GEMM_THIN_SOON(g) \
  ((g)->K * (g)->N * (int64_t)sizeof(GEMM_T) < 15 << 20 ? GEMM_THIN_MAX : sizeof(GEMM_T) == 4 && (g)->ldb % 1024 ? 6 : 5)
#else
#define GEMM_THIN_SOON(g) ((g)->K * (g)->N * (int64_t)sizeof(GEMM_T) >= GEMM_THIN_MEMORY ? GEMM_THIN_MAX : 4)
#endif
#define GEMM_IS_THIN(g) (!(g)->packing && !(g)->trans_b && (g)->M <= (GEMM_SOON ? GEMM_THIN_SOON(g) : GEMM_THIN_MAX))

// Bytes of workspace: all threads' sums of a shared K, then what each has at a time.
RIDGE_INLINE int64_t GEMM_F(thin_bytes)(const ridge_gemm_args *g, int64_t nthreads) {
  return nthreads * (GEMM_F(thin_deep)(g, nthreads) + GEMM_THIN_SUMS);
}

GEMM_NOINLINE int GEMM_F(thin)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  const int64_t bytes = GEMM_F(thin_deep)(g, ctx->nthreads), ld = gemm_ceil(g->N, 16);
  if (g->M <= 0) return RIDGE_OK;
  if (ctx->workspace_bytes < GEMM_F(thin_bytes)(g, ctx->nthreads)) return RIDGE_E_WORKSPACE;
  // Sums of 2 KiB a row where B is in L2: rows of B that are asked for would else leave L1 before they are used.
  GEMM_F(thin_part) p = {0, g->N, 0, g->K, bytes > 0 ? 2048 / (int64_t)sizeof(GEMM_S) : ld, NULL, ld,
                         (GEMM_S *)((char *)ctx->workspace + ctx->nthreads * bytes + ctx->tid * GEMM_THIN_SUMS)};
  if (bytes > 0) {
    p.part = (GEMM_S *)((char *)ctx->workspace + ctx->tid * bytes);
    ridge_share(g->K, 4, ctx->tid, ctx->nthreads, &p.k0, &p.k1);
  } else {
    ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &p.from, &p.to);
  }
  switch (g->M) {
    case 1: GEMM_F(thin_m)(g, 1, &p); break;
    case 2: GEMM_F(thin_m)(g, 2, &p); break;
    case 3: GEMM_F(thin_m)(g, 3, &p); break;
    default: GEMM_F(thin_many)(g, &p);
  }
  if (bytes == 0) return RIDGE_OK;
  ridge_barrier(ctx);
  ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &p.from, &p.to);
  GEMM_S *all = ctx->workspace;
  for (int t = 1; t < ctx->nthreads; t++)
    for (int64_t i = 0; i < g->M; i++)
      for (int64_t j = p.from; j < p.to; j++) all[i * ld + j] += ((const GEMM_S *)((const char *)all + t * bytes))[i * ld + j];
  GEMM_F(finish)(g, 0, p.from, g->M, p.to - p.from, all + p.from, ld, NULL, 0);
  return RIDGE_OK;
}
