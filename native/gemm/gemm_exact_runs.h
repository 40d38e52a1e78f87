// Tiles of 6 rows against panels that were packed beforehand and follow each other (template, in gemm_exact.h).
#define GEMM_EXACT_RUNS
// The tile times panels of B that follow each other, with nothing beside, its sums to c as they are: little stands between the end of one and the
// multiply-adds of the next. kc: at least GEMM_LAST units.
GEMM_INLINE void GEMM_F(packed_step)(const int h, GEMM_F(vec) (*s)[GEMM_NV], const GEMM_UNIT *a, const char *b) {
  const GEMM_F(vec) bv[2] = {*(const GEMM_F(vec) *)b, *(const GEMM_F(vec) *)(b + GEMM_VEC)};
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) GEMM_F(row)(s[i], a + i, bv);
}
GEMM_TEMPLATE void GEMM_F(run_of)(const int h, int64_t kc, const void *ap, const char *b, GEMM_S *c, int64_t ldc, int add, int64_t panels) {
  typedef GEMM_F(vec) V;
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) __builtin_prefetch(c + i * ldc, 1);
  for (; panels > 0; panels--, c += GEMM_NR) {
    const GEMM_UNIT *a = ap;
    V s[GEMM_MR][GEMM_NV];
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) s[i][0] = s[i][1] = (V){0};
    const GEMM_S *next = panels > 1 ? c + GEMM_NR : c;
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, next += ldc) __builtin_prefetch(next, 1);
    int64_t k = kc - GEMM_LAST;
    for (; k >= 4; k -= 4) {
      GEMM_F(packed_step)(h, s, a + 0 * h, b + 0 * GEMM_NV * GEMM_VEC);
      GEMM_F(packed_step)(h, s, a + 1 * h, b + 1 * GEMM_NV * GEMM_VEC);
      GEMM_F(packed_step)(h, s, a + 2 * h, b + 2 * GEMM_NV * GEMM_VEC);
      GEMM_F(packed_step)(h, s, a + 3 * h, b + 3 * GEMM_NV * GEMM_VEC);
      a += 4 * h, b += 4 * GEMM_NV * GEMM_VEC;
      __asm__("" : "+r"(a), "+r"(b));
    }
    for (; k > 0; k--) {
      GEMM_F(packed_step)(h, s, a + 0 * h, b + 0 * GEMM_NV * GEMM_VEC);
      a += h, b += GEMM_NV * GEMM_VEC;
      __asm__("" : "+r"(a), "+r"(b));
    }
    const GEMM_F(left) left = GEMM_F(left_at)(h, a, 0);
    if (add) GEMM_F(last_rows)(h, 1, s, &left, (const V *)b, c, ldc);
    else GEMM_F(last_rows)(h, 0, s, &left, (const V *)b, c, ldc);
    b += GEMM_LAST * GEMM_NV * GEMM_VEC;
  }
}
#define GEMM_EXACT_RUN(h)                                                                                                                    \
  GEMM_NOINLINE void GEMM_F(run_##h)(int64_t kc, const void *a, const char *b, GEMM_S *c, int64_t ldc, int add, int64_t panels) {              \
    GEMM_F(run_of)(h, kc, a, b, c, ldc, add, panels);                                                                                        \
  }
