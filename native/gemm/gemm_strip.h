// A few rows of C (template, after gemm_epilogue.h): B is read once where it lies, sums are kept
// in registers for blocks of K and in L2 between them.
//
//   for chunks of columns whose sums fit, for k in K by GEMM_STRIP_K rows of B:
//     A's block packed by tiles of up to MR rows
//     for strips of NR columns: the first tile reads the strip from memory, keeps it as a panel in
//       L1 and asks for a later strip; the other tiles read the panel
//
// Each of the K block's rows of B is a stream along the chunk. 32 rows, because lines at a pitch of a
// large power of two share sets: at 16 KiB an L2 of 512 KiB and 8 ways holds 32 such rows. A step
// has MR*NV multiply-adds, NV loads of B and MR broadcasts, as the tile of the large product, and in the first
// tile NV stores and a prefetch; beginning and ending a tile costs MR*NV loads and stores in 32 steps.
// One Zen 3 core beside a busy neighbour (where the large product's tile has 0.72), of the FMA probe, packed in
// groups (gemm_few.h, as 20 rows and more then went) and this: 16x4000x4000 0.41 and 0.57, 16x4096x4096 0.41 and 0.46, 16x512x2048 0.48 and 0.53.
// Blocks of 64 and 128 rows: 0.50 and 0.43 of 16x4000x4000. All prefetches of a strip at once instead of
// one a step: 0.48. Without the panel, the strip read from L2 by each tile: 0.37 of 16x4096x4096.
// Threads share N.

#define GEMM_STRIP_K 32
#define GEMM_STRIP_SUMS (65536 / (int)sizeof(GEMM_S))
// Tiles have MR, MR - STEP, ... rows, at least 4; shorter ones are padded with rows of zeros.
#define GEMM_STRIP_STEP (GEMM_MR > 6 ? 2 : 1)

typedef struct GEMM_F(strip) {
  int64_t kc;      // rows of B
  const GEMM_S *a; // the tile's rows of A: kc x h
  const GEMM_T *b; // the strip in memory
  int64_t ldb;
  int64_t ahead; // elements from b to a strip that is read later
  GEMM_S *panel; // kc x NR
  GEMM_S *sum;   // h x NR
  int64_t ld;
} GEMM_F(strip);

// One tile: sum += a * strip. fresh: the strip is read from memory and kept.
GEMM_TEMPLATE void GEMM_F(strip_tile)(const int h, const int fresh, const GEMM_F(strip) *p) {
  typedef GEMM_F(vec) V;
  const GEMM_S *a = p->a;
  const GEMM_T *b = p->b;
  GEMM_S *panel = p->panel;
  V s[GEMM_MR][GEMM_NV];
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
    RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) s[i][j] = (V){0};
    __builtin_prefetch(p->sum + i * p->ld, 1);
  }
  RIDGE_UNROLL(2) for (int64_t k = 0; k < p->kc; k++, a += h, panel += GEMM_NR) {
    V bv[GEMM_NV];
    if (fresh) {
      __builtin_prefetch(b + p->ahead, 0, 2);
      RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) {
        bv[j] = GEMM_LOADV(b + j * GEMM_LANES);
        *(V *)(panel + j * GEMM_LANES) = bv[j];
      }
      b += p->ldb;
    } else {
      RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) bv[j] = *(const V *)(panel + j * GEMM_LANES);
    }
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
      RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) s[i][j] = a[i] * bv[j] + s[i][j];
    }
  }
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
    RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) *(V *)(p->sum + i * p->ld + j * GEMM_LANES) += s[i][j];
  }
}

// Tiles of n rows, where the variant has such.
#define GEMM_STRIP_IF(n) \
  if ((n) > 3 && h == (n)) { \
    if (fresh) \
      GEMM_F(strip_tile)((n) > 3 ? (n) : 4, 1, p); \
    else \
      GEMM_F(strip_tile)((n) > 3 ? (n) : 4, 0, p); \
  }

GEMM_NOINLINE void GEMM_F(strip_any)(int64_t h, int fresh, const GEMM_F(strip) *p) {
  GEMM_STRIP_IF(GEMM_MR)
  GEMM_STRIP_IF(GEMM_MR - GEMM_STRIP_STEP)
  GEMM_STRIP_IF(GEMM_MR - 2 * GEMM_STRIP_STEP)
  GEMM_STRIP_IF(GEMM_MR - 3 * GEMM_STRIP_STEP)
  GEMM_STRIP_IF(GEMM_MR - 4 * GEMM_STRIP_STEP)
  GEMM_STRIP_IF(GEMM_MR - 5 * GEMM_STRIP_STEP)
}

GEMM_NOINLINE void GEMM_F(strips)(const ridge_gemm_args *g, int64_t from, int64_t to) {
  enum { TILES = GEMM_STRIP_MAX / 4 + 1, ROWS = 2 * GEMM_STRIP_MAX };
  const int64_t tiles = (g->M + GEMM_MR - 1) / GEMM_MR;
  int64_t first[TILES + 1], pad[TILES + 1]; // of each tile: its first row of C, its first row of the sums
  first[0] = pad[0] = 0;
  for (int64_t q = 0; q < tiles; q++) {
    const int64_t rows = g->M / tiles + (q < g->M % tiles);
    int64_t h = GEMM_MR;
    while (h - GEMM_STRIP_STEP >= rows && h - GEMM_STRIP_STEP >= 4) h -= GEMM_STRIP_STEP;
    first[q + 1] = first[q] + rows, pad[q + 1] = pad[q] + h;
  }
  // A pitch of an odd number of lines: rows of sums do not share sets.
  const int64_t line = 64 / (int64_t)sizeof(GEMM_S), chunk = (GEMM_STRIP_SUMS / pad[tiles] - line) / GEMM_NR * GEMM_NR;
  const int64_t ld = (chunk / line) % 2 ? chunk : chunk + line;
  GEMM_S sum[GEMM_STRIP_SUMS] __attribute__((aligned(64))), panel[GEMM_STRIP_K * GEMM_NR] __attribute__((aligned(64)));
  GEMM_S a[ROWS * GEMM_STRIP_K];
  memset(a, 0, sizeof a);
  for (int64_t j0 = from; j0 < to; j0 += chunk) {
    const int64_t n = gemm_min(chunk, to - j0);
    memset(sum, 0, (size_t)(pad[tiles] * ld) * sizeof(GEMM_S));
    for (int64_t k0 = 0; k0 < g->K; k0 += GEMM_STRIP_K) {
      GEMM_F(strip) p = {gemm_min(GEMM_STRIP_K, g->K - k0), a, NULL, g->ldb, 0, panel, sum, ld};
      for (int64_t q = 0; q < tiles; q++)
        for (int64_t i = first[q], h = pad[q + 1] - pad[q]; i < first[q + 1]; i++)
          for (int64_t k = 0; k < p.kc; k++)
            a[pad[q] * GEMM_STRIP_K + k * h + i - first[q]] = GEMM_LOADS(((const GEMM_T *)g->A)[i * g->lda + k0 + k]);
      for (int64_t j = 0; j < n; j += GEMM_NR) {
        int fresh = n - j >= GEMM_NR;
        p.b = (const GEMM_T *)g->B + k0 * g->ldb + j0 + j;
        p.ahead = 0; // two strips ahead, else the beginning of the next block
        if (j + 3 * GEMM_NR <= n)
          p.ahead = 2 * GEMM_NR;
        else if (k0 + 2 * GEMM_STRIP_K <= g->K)
          p.ahead = GEMM_STRIP_K * g->ldb - j;
        if (!fresh)
          for (int64_t k = 0; k < p.kc; k++)
            for (int64_t c = 0; c < GEMM_NR; c++) panel[k * GEMM_NR + c] = c < n - j ? GEMM_LOADS(p.b[k * g->ldb + c]) : 0;
        for (int64_t q = 0; q < tiles; q++, fresh = 0) {
          p.a = a + pad[q] * GEMM_STRIP_K, p.sum = sum + pad[q] * ld + j;
          GEMM_F(strip_any)(pad[q + 1] - pad[q], fresh, &p);
        }
      }
    }
    for (int64_t q = 0; q < tiles; q++)
      GEMM_F(finish)(g, first[q], j0, first[q + 1] - first[q], n, sum + pad[q] * ld, ld, NULL, 0);
  }
}

#undef GEMM_STRIP_IF
#undef GEMM_STRIP_K
#undef GEMM_STRIP_SUMS
#undef GEMM_STRIP_STEP
