// One vector of columns by pairs of k (template, in gemm_small.h), for cores that load little more than one vector of 512 bits a cycle.
//
// A tile of one vector takes as many loads as multiply-adds: 16 rows a k are 17 loads (15 cycles on Ice Lake, which loads 1.13 a cycle) for 8 cycles of multiply-adds. Here
// rows k and k+1 of B lie side by side in two vectors, by columns 0, 1, 4, 5, .. and 2, 3, 6, 7, .., and a[i][k], a[i][k+1] are one broadcast for two multiply-adds:
// 8 rows are 10 loads for 16 multiply-adds and 2 shuffles. Sums of even and odd k meet at the end: two shuffles and an addition a row, columns in order. Up to half a vector
// more is a third of that (gemm_small_half.h), still one broadcast. By the matrix's width, so that no number of threads changes the order of a sum.
//
// Ice Lake, one thread, of the tiles of whole vectors (of one and a half, gemm_small_half.h): fp32 16^3 1.3, 12x16x12 1.5, 24^3 1.36, 20^3 1.4, 16x24x16 1.6, 40x20x40 1.5; fp64 8^3 1.17.
// Of two vectors (32^3) loads are 38 for 64 multiply-adds: a tile of pairs would take the same cycles by its shuffles.
#ifdef GEMM_SMALL_LOADS
#define GEMM_PAIR_TILES(X) GEMM_SMALL_12(X, 0) GEMM_SMALL_12(X, 1) GEMM_SMALL_8(X, 2)
#define GEMM_PAIR_ROWS(kind) ((kind) == 2 ? 8 : 12)
#define GEMM_PAIR_KIND(n) ((n) < GEMM_LANES ? 0 : (n) == GEMM_LANES ? 1 : 2) // of pair_tile

// lo, hi: pairs of b0 and b1 (one: of b0 and zeros), the first half of the columns of every 16 bytes in lo, the others in hi; whole: a vector of columns, else those of `in`.
GEMM_INLINE void GEMM_F(pair_rows)(GEMM_F(vec) *lo, GEMM_F(vec) *hi, const char *b0, const char *b1, GEMM_LANES_OF in, const int whole, const int one) {
#ifdef GEMM_MODEL
  enum { E = sizeof(GEMM_S) == 8 ? 1 : 2, Q = 2 * E }; // columns that lo has of 16 bytes, and both have
  *lo = *hi = (GEMM_F(vec)){0};
  for (int j = 0; j < (whole ? GEMM_LANES : in); j++) {
    GEMM_F(vec) *to = j % Q < E ? lo : hi;
    (*to)[j / Q * Q + j % E * 2] = ((const GEMM_F(one_u) *)b0)[j];
    (*to)[j / Q * Q + j % E * 2 + 1] = one ? 0 : ((const GEMM_F(one_u) *)b1)[j];
  }
#else
  GEMM_F(vec) x, y = {0};
  if (whole) {
    x = *(const GEMM_F(vecu) *)b0;
    if (!one) y = *(const GEMM_F(vecu) *)b1;
  } else {
    GEMM_F(load_lanes)(&x, (const GEMM_S *)b0, in);
    if (!one) GEMM_F(load_lanes)(&y, (const GEMM_S *)b1, in);
  }
  __asm__("" : "+v"(x), "+v"(y)); // both shuffles read registers: gcc would load each twice
  if (sizeof(GEMM_S) == 8) {
    *lo = (GEMM_F(vec))_mm512_unpacklo_pd((__m512d)x, (__m512d)y);
    *hi = (GEMM_F(vec))_mm512_unpackhi_pd((__m512d)x, (__m512d)y);
  } else {
    *lo = (GEMM_F(vec))_mm512_unpacklo_ps((__m512)x, (__m512)y);
    *hi = (GEMM_F(vec))_mm512_unpackhi_ps((__m512)x, (__m512)y);
  }
#endif
}

// v = a[0], a[1] in every pair of lanes; one: a[0] alone, in the even ones.
GEMM_INLINE void GEMM_F(pair_a)(GEMM_F(vec) *v, const GEMM_F(one_u) *a, const int one) {
#ifdef GEMM_MODEL
  *v = (GEMM_F(vec)){0};
  for (int j = 0; j < GEMM_LANES; j += 1 + one) (*v)[j] = a[j & 1];
#else
  if (sizeof(GEMM_S) == 8)
    *v = (GEMM_F(vec))(one ? _mm512_maskz_mov_pd(0x55, _mm512_set1_pd(*a)) : _mm512_broadcast_f64x2(_mm_loadu_pd((const double *)a)));
  else
    *v = (GEMM_F(vec))(one ? _mm512_maskz_mov_ps(0x5555, _mm512_set1_ps(*a)) : (__m512)_mm512_set1_epi64(*(const gemm_u64 *)a));
#endif
}

// s += a b, by the instruction that keeps a: gcc copies it for the last of several.
GEMM_INLINE void GEMM_F(pair_madd)(GEMM_F(vec) *s, const GEMM_F(vec) *a, const GEMM_F(vec) *b) {
#ifdef GEMM_MODEL
  *s = *a * *b + *s;
#else
  __asm__(GEMM_MADD("%[a]", "%[b]", "%[s]") : [s] "+v"(*s) : [b] "v"(*b), [a] "v"(*a));
#endif
}

// A row of columns from the sums of even and odd k.
GEMM_INLINE void GEMM_F(pair_sum)(GEMM_F(vec) *s, const GEMM_F(vec) *lo, const GEMM_F(vec) *hi) {
#ifdef GEMM_MODEL
  enum { E = sizeof(GEMM_S) == 8 ? 1 : 2, Q = 2 * E };
  for (int j = 0; j < GEMM_LANES; j++) {
    const GEMM_F(vec) *of = j % Q < E ? lo : hi;
    (*s)[j] = (*of)[j / Q * Q + j % E * 2] + (*of)[j / Q * Q + j % E * 2 + 1];
  }
#else
  if (sizeof(GEMM_S) == 8)
    *s = (GEMM_F(vec))(_mm512_unpacklo_pd((__m512d)*lo, (__m512d)*hi) + _mm512_unpackhi_pd((__m512d)*lo, (__m512d)*hi));
  else
    *s = (GEMM_F(vec))(_mm512_shuffle_ps((__m512)*lo, (__m512)*hi, 0x88) + _mm512_shuffle_ps((__m512)*lo, (__m512)*hi, 0xdd));
#endif
}

// c[r x w] = alpha (NULL: 1) * a[r x kc] * b[kc x w], in place. kind: w is 0 part of a vector, 1 a vector, 2 a vector and up to half of another.
GEMM_TEMPLATE void GEMM_F(pair_tile)(const int r, const int kind, const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb, int64_t kc, int64_t w,
                                    const GEMM_S *alpha, GEMM_S *c, int64_t ldc) {
  typedef GEMM_F(vec) V;
  enum { S = sizeof(GEMM_S), G = GEMM_SMALL_GROUP, L = GEMM_LANES };
  const GEMM_LANES_OF in = GEMM_F(lanes_of)(kind == 0 ? w : 0);
  const int32_t rest = (int32_t)w - L; // of kind 2
  const char *pb = (const char *)b, *p[12];
  int64_t stride[3] = {0, lda * S, 2 * lda * S}, down = ldb * S;
  __asm__("" : "+r"(stride[1]), "+r"(stride[2]), "+r"(down));
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i += G) p[i / G] = (const char *)(a + i * lda);
  V lo[12], hi[12], s[12];
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {
    lo[i] = hi[i] = s[i] = (V){0};
#ifndef GEMM_MODEL
    __asm__ volatile("" : "+v"(lo[i]), "+v"(hi[i])); // once: clang would have zeros of its own behind the loop for a K below 4
    if (kind == 2) __asm__ volatile("" : "+v"(s[i]));
#endif
  }
#define GEMM_PAIR_STEP(q, one)                                                                                                              \
  {                                                                                                                                         \
    V bl, bh, bs = {0};                                                                                                                     \
    GEMM_F(pair_rows)(&bl, &bh, pb, pb + down, in, kind > 0, one);                                                                          \
    if (kind == 2) GEMM_F(pair_b)(&bs, (const GEMM_F(one_u) *)pb + L, (const GEMM_F(one_u) *)(pb + down) + L, rest, one);                   \
    pb += 2 * down;                                                                                                                         \
    __asm__("" : "+r"(pb));                                                                                                                 \
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {                                                                                         \
      V x;                                                                                                                                  \
      GEMM_F(pair_a)(&x, (const GEMM_F(one_u) *)(p[i / G] + stride[i % G] + (q) * 2 * S), one);                                             \
      GEMM_F(pair_madd)(&lo[i], &x, &bl);                                                                                                   \
      GEMM_F(pair_madd)(&hi[i], &x, &bh);                                                                                                   \
      if (kind == 2) GEMM_F(pair_madd)(&s[i], &x, &bs);                                                                                     \
    }                                                                                                                                       \
  }
#define GEMM_PAIR_ADVANCE(n)                                                                                                                \
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i += G) {                                                                                        \
    p[i / G] += (n) * S;                                                                                                                    \
    __asm__("" : "+r"(p[i / G]));                                                                                                           \
  }
  int64_t k = kc;
  for (; k >= 4; k -= 4) {
    GEMM_PAIR_STEP(0, 0)
    GEMM_PAIR_STEP(1, 0)
    GEMM_PAIR_ADVANCE(4)
  }
  if (k >= 2) {
    GEMM_PAIR_STEP(0, 0)
    GEMM_PAIR_ADVANCE(2)
  }
  if (k & 1) GEMM_PAIR_STEP(0, 1)
#undef GEMM_PAIR_STEP
#undef GEMM_PAIR_ADVANCE
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {
    V sum;
    GEMM_F(pair_sum)(&sum, &lo[i], &hi[i]);
    if (alpha) sum *= *alpha;
    if (kind > 0)
      *(GEMM_F(vecu) *)(c + i * ldc) = sum;
    else
      GEMM_F(store_lanes)(c + i * ldc, &sum, w, in);
  }
  if (kind == 2)
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i += 2)
      GEMM_F(pair_store)(c + i * ldc + L, ldc, &s[i], &s[i + (i + 1 < r)], i + 1 < r, rest, alpha);
}

#define GEMM_PAIR_DEFINE(r, kind)                                                                                                            \
  GEMM_NOINLINE void GEMM_F(pair_##kind##_##r)(const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb, int64_t kc, int64_t w,            \
                                                const GEMM_S *alpha, GEMM_S *c, int64_t ldc) {                                                \
    GEMM_F(pair_tile)(r, kind, a, lda, b, ldb, kc, w, alpha, c, ldc);                                                                        \
  }
GEMM_PAIR_TILES(GEMM_PAIR_DEFINE)
#undef GEMM_PAIR_DEFINE
static const GEMM_F(small_fn) GEMM_F(pairs)[3][13] = {
#define GEMM_PAIR_ENTRY(r, kind) [kind][r] = GEMM_F(pair_##kind##_##r),
    GEMM_PAIR_TILES(GEMM_PAIR_ENTRY)
#undef GEMM_PAIR_ENTRY
};
#endif
