// Register tiles of up to six rows by two vectors of AVX2 (template, in gemm_fma.h), whose last units of K go by pairs of rows.
//
// On Zen 3 a vector store beside multiply-adds takes their place unless it is spread among them: 12 stores of 256 bits behind a tile cost
// 19 to 25 cycles, those of 128 bits as much, 12 of general registers one. Cycles for eight units of K of a 6x16 tile (48 of multiply-adds), all in L1, the stores
//
//   behind the tile                                                                    67 to 73
//   row by row over the last 1, 2, 3, 4, 5 units, two after 2, 4, 6, 8, 10 multiply-adds   69, 55, 52, 50, 54
//   by pairs of rows over the last 2, 3, 4 units, four after 8, 12, 16                     54, 48.4, 51
//
// (Row by row B comes from memory for each row: beyond 4 units the loads bind. A pair shares them.) So pairs, over three units.
//
// Given by the includer: GEMM_BROADCAST, GEMM_MADD (the instructions).

#define GEMM_TWOS_UNITS 3

// One row of a unit: sums += a . vectors of B. In one piece of assembly, because gcc otherwise orders loads, and writes sums over factors, in ways that cost
// 3 % (cycles beside a tile's multiply-adds, K = 64, 128, 256: 36, 51, 80; so 32, 31, 31; with the pairs: see above).
GEMM_INLINE void GEMM_F(twos_row)(GEMM_F(vec) *s, const GEMM_S *a, const GEMM_F(vec) *b) {
  GEMM_F(vec) x;
  __asm__(GEMM_BROADCAST " %3, %2\n\t" GEMM_MADD("%2", "%4", "%0") "\n\t" GEMM_MADD("%2", "%5", "%1")
          : "+x"(s[0]), "+x"(s[1]), "=&x"(x)
          : "m"(*a), "x"(b[0]), "x"(b[1]));
}

// m rows of one unit.
GEMM_INLINE void GEMM_F(twos_unit)(const int m, GEMM_F(vec) *s, const GEMM_S *a, const GEMM_S *b) {
  const GEMM_F(vec) bv[2] = {*(const GEMM_F(vec) *)b, *(const GEMM_F(vec) *)(b + GEMM_LANES)};
  RIDGE_UNROLL_FULL for (int i = 0; i < m; i++) GEMM_F(twos_row)(s + 2 * i, a + i, bv);
}

// The last units of a tile whose sums go to c as they are.
GEMM_INLINE void GEMM_F(twos_end)(const int m, const int add, GEMM_F(vec) *s, const GEMM_S *a, const GEMM_S *b, GEMM_S *c, int64_t ldc) {
  typedef GEMM_F(vecu) VU;
  char *p = (char *)c;
  ldc *= (int64_t)sizeof(GEMM_S);
  RIDGE_UNROLL_FULL for (int i = 0; i < m; i += 2) {
    const int rows = i + 2 <= m ? 2 : 1;
    RIDGE_UNROLL_FULL for (int u = 0; u < GEMM_TWOS_UNITS; u++) GEMM_F(twos_unit)(rows, s + 2 * i, a + u * GEMM_MR + i, b + u * GEMM_NR);
    RIDGE_UNROLL_FULL for (int r = 0; r < rows; r++, p += ldc) {
      GEMM_F(vec) *t = s + 2 * (i + r);
      if (add) t[0] += *(const VU *)p, t[1] += *(const VU *)(p + GEMM_VEC);
      *(VU *)p = t[0], *(VU *)(p + GEMM_VEC) = t[1];
      __asm__("" : "+r"(p));
    }
    __asm__("" : "+r"(b), "+r"(a)); // the next pair loads B again
  }
}

// m rows. ahead: asks for lines of B so many bytes on.
GEMM_INLINE void GEMM_F(twos_tile)(const int m, const int ahead, int64_t kc, const void *ap, const void *bp, GEMM_S *c, int64_t ldc, int add,
                                   const GEMM_F(end) *end) {
  const GEMM_S *a = ap, *b = bp;
  GEMM_F(vec) s[2 * GEMM_MR];
  RIDGE_UNROLL_FULL for (int i = 0; i < m; i++) {
    s[2 * i] = s[2 * i + 1] = (GEMM_F(vec)){0};
    __builtin_prefetch(c + i * ldc, 1);
  }
  const int pairs = !end && kc >= GEMM_TWOS_UNITS;
  int64_t k = pairs ? kc - GEMM_TWOS_UNITS : kc;
  for (; k >= 4; k -= 4) {
    RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++) {
      if (ahead) __builtin_prefetch((const char *)(b + q * GEMM_NR) + ahead);
      GEMM_F(twos_unit)(m, s, a + q * GEMM_MR, b + q * GEMM_NR);
    }
    a += 4 * GEMM_MR, b += 4 * GEMM_NR;
    __asm__("" : "+r"(a), "+r"(b));
  }
  for (; k > 0; k--, a += GEMM_MR, b += GEMM_NR) {
    GEMM_F(twos_unit)(m, s, a, b);
    __asm__("" : "+r"(a), "+r"(b));
  }
  if (!pairs) GEMM_F(tile_end)(s, m, GEMM_NV, c, ldc, add, end);
  else if (add) GEMM_F(twos_end)(m, 1, s, a, b, c, ldc);
  else GEMM_F(twos_end)(m, 0, s, a, b, c, ldc);
}
