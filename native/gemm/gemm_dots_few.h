// Up to three rows of A against rows of B (template, in gemm_dots.h): columns of C one at a time or, where the machine reads several runs of memory faster than one, side by side.

// Up to three rows of A times w columns of B side by side, four vectors of each in flight: v[c * h + i] are the lanes of column c and row i.
GEMM_INLINE void GEMM_F(dots_columns)(const int h, const int w, const int64_t ahead, const GEMM_F(dots) *d, const GEMM_F(vec) *mask, const GEMM_TB *row, int64_t ldb, GEMM_F(vec) *v) {
  typedef GEMM_F(vec) V;
  typedef GEMM_F(vecu) VU;
  enum { E = GEMM_F(DOTS_E), U = GEMM_DOTS_U };
  const int64_t whole = GEMM_DOTS_WHOLE(d->K);
  GEMM_TB spare[E];
  const VU *a = (const VU *)d->a;
  const GEMM_TB *b[8];
  V s[72], x;
  RIDGE_UNROLL_FULL for (int c = 0; c < w; c++) b[c] = row + c * ldb;
  RIDGE_UNROLL_FULL for (int i = 0; i < 4 * h * w; i++) s[i] = (V){0};
  int64_t k = 0;
  for (; k + 4 <= whole; k += 4, a += 4 * U * h)
    RIDGE_UNROLL_FULL for (int c = 0; c < w; c++) {
      RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++) {
#if GEMM_DOTS_U == 2
        GEMM_F(pairs) both = *(const GEMM_F(pairsu) *)(b[c] + q * E);
        GEMM_DOTS_HELD(both);
#endif
        if (ahead && q * E * (int)sizeof(GEMM_TB) % 64 == 0) __builtin_prefetch((const char *)(b[c] + q * E) + ahead, 0, 3);
        RIDGE_UNROLL_FULL for (int u = 0; u < U; u++) {
#if GEMM_DOTS_U == 2
          x = GEMM_DOTS_OF(both, u);
#else
          GEMM_F(dots_b)(&x, b[c] + q * E, 0);
#endif
          RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
            const V y = a[(q * U + u) * h + i];
            GEMM_F(dots_madd)(&s[4 * (c * h + i) + (q * U + u) % 4], &y, &x);
          }
        }
      }
      b[c] += 4 * E;
    }
  for (; k < whole; k++, a += U * h)
    RIDGE_UNROLL_FULL for (int c = 0; c < w; c++, b[c - 1] += E)
      RIDGE_UNROLL_FULL for (int u = 0; u < U; u++) {
        GEMM_F(dots_b)(&x, b[c], u);
        RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
          const V y = a[u * h + i];
          GEMM_F(dots_madd)(&s[4 * (c * h + i) + u], &y, &x);
        }
      }
  if (whole * E < d->K)
    RIDGE_UNROLL_FULL for (int c = 0; c < w; c++) {
      const GEMM_TB *rest = GEMM_F(dots_rest)(row + c * ldb, d->K, spare);
      RIDGE_UNROLL_FULL for (int u = 0; u < U; u++) {
        GEMM_F(dots_last)(&x, rest, mask, u);
        RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) GEMM_F(dots_madd)(&s[4 * (c * h + i) + 1 + u], &d->end[i * U + u], &x);
      }
    }
  RIDGE_UNROLL_FULL for (int i = 0; i < h * w; i++) v[i] = (s[4 * i] + s[4 * i + 1]) + (s[4 * i + 2] + s[4 * i + 3]);
}

// sum[h x n] for up to three rows, w columns at a time. The lanes of four columns are added up together, where that is much of the
// work: Emerald Rapids, int8, 3x4096x192 1.4 to 1.75, 3x4096x384 1.13 to 1.46, 2x2048x512 1.04 to 1.25; of one row 0.82 to 1.25, so not there.
GEMM_TEMPLATE void GEMM_F(dots_run)(const int h, const int w, const int asks, const GEMM_F(dots) *d, const GEMM_F(vec) *mask, const GEMM_TB *row, int64_t ldb, int64_t n, GEMM_S *sum, int64_t ld) {
  typedef GEMM_F(vec) V;
  const int64_t ahead = !asks ? 0 : w > 1 ? 512 : d->ahead;
  V t[3][4] = {{{0}}}, v[18];
  for (int64_t j = 0, cols; j < n; j += cols, row += cols * ldb) {
    cols = n - j < w ? 1 : w;
    if (cols == w) GEMM_F(dots_columns)(h, w, ahead, d, mask, row, ldb, v);
    else GEMM_F(dots_columns)(h, 1, ahead, d, mask, row, ldb, v);
    for (int64_t c = 0, at = j; c < cols; c++, at++)
      RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
        const GEMM_S fix = d->fix ? d->fix[i] : 0;
        if (h > 1) {
          t[i][at % 4] = v[c * h + i];
          if (at % 4 == 3 || at == n - 1) GEMM_F(dots_lanes)(sum + i * ld + at / 4 * 4, &t[i][0], &t[i][1], &t[i][2], &t[i][3], fix);
          continue;
        }
        GEMM_F(part) q;
        GEMM_F(dots_parts)(&q, &v[c]);
        GEMM_S r = fix;
        for (int l = 0; l < 16 / (int)sizeof(GEMM_S); l++) r += q[l];
        sum[i * ld + at] = r;
      }
  }
}
// Side by side where B comes from memory and the machine reads several runs of it faster than one (ridge_ctx), each asked for 512 bytes ahead; registers hold the sums of six columns of one row,
// others pass through L1 once for four vectors. Ice Lake, one thread, of one column at a time (15 to 21 rounds, MKL's gemv and gemm in the same rounds):
// 1, 2, 3 x 4096x4096 fp32 by 4, 6, 8, 12 columns 1.12, 1.24, 1.27, 1.27 (MKL 1.22); 1.23, 1.30, 1.32, 1.27 (1.17); 1.28, 1.27 to 1.33, 1.24, 1.09 (1.28); by 6, 3, 2, which need no L1, 1.15, 1.17, 1.15;
// asked for 1 KiB ahead the same, 2 KiB 1.23 for 1.31. bf16 1.31, 1.19, 1.21; fp64 1.29, 1.36. K = 1024, 40 MiB: 1.25, 1.22, 1.03. From L3 less: 1x4096x1024 0.95, int8 3x4096x4096 0.75;
// from 18 MiB on 1.16 and more.
#define GEMM_DOTS_RUN(name, h, w, asks)                                                                                                \
  GEMM_NOINLINE void GEMM_F(name)(const GEMM_F(dots) *d, const GEMM_F(vec) *mask, const GEMM_TB *row, int64_t ldb, int64_t n,          \
                                  GEMM_S *sum, int64_t ld) {                                                                           \
    GEMM_F(dots_run)(h, w, asks, d, mask, row, ldb, n, sum, ld);                                                                       \
  }
GEMM_DOTS_RUN(dots_run_1, 1, 1, 0) GEMM_DOTS_RUN(dots_run_2, 2, 1, 0) GEMM_DOTS_RUN(dots_run_3, 3, 1, 0)
GEMM_DOTS_RUN(dots_far_1, 1, 1, 1) GEMM_DOTS_RUN(dots_far_2, 2, 1, 1) GEMM_DOTS_RUN(dots_far_3, 3, 1, 1)
#if GEMM_VEC == 64
GEMM_DOTS_RUN(dots_beside_1, 1, 8, 1) GEMM_DOTS_RUN(dots_beside_2, 2, 6, 1) GEMM_DOTS_RUN(dots_beside_3, 3, 6, 1)
#define GEMM_DOTS_BESIDE(h) GEMM_F(dots_beside_##h)
#else
#define GEMM_DOTS_BESIDE(h) GEMM_F(dots_far_##h)
#endif
#undef GEMM_DOTS_RUN
