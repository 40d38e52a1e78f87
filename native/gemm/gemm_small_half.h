// Columns of small products that fill no more than half a vector (template, in gemm_small.h).
#if GEMM_SAME && GEMM_VEC == 64
#define GEMM_SMALL_HALF
#ifdef GEMM_COVE
// Two steps of k side by side: lanes 2j and 2j+1 hold b[k][j] and b[k+1][j], and a[i][k], a[i][k+1] are one broadcast of twice the width, so that
// every lane of a 512-bit multiply-add counts; even and odd k are added at the end. 8x8x8 in fp32: 32 multiply-adds (16 cycles) for 64 of half
// a vector (32), beside 32 broadcasts, 8 loads and 4 shuffles of B, 16 shuffles and 4 additions at the end. No column is computed that is not there,
// and none twice: another order of sums than a whole vector's must not depend on how threads share columns.
#define GEMM_HALF_KIND(v, w) (v) // of a tile of v vectors and then w columns
#define GEMM_HALF_FROM(kind) ((kind) * GEMM_LANES) // columns before the half's
#define GEMM_HALF_LEAST(kind) (GEMM_HALF_FROM(kind) + 1) // columns of a whole product
#define GEMM_HALF_MOST(kind) (GEMM_HALF_FROM(kind) + GEMM_LANES / 2)
#define GEMM_HALF_WIDE INT32_MAX // from so many columns on the last ones go otherwise
#define GEMM_HALF_ROWS {16, 12} // of none and of one whole vector before the half
#ifdef GEMM_SMALL_LOADS // a row of one and a half is three loads for three multiply-adds: gemm_small_pair.h has one for them, and more than 8 rows as two tiles
#define GEMM_ONE_HALVES(X) GEMM_SMALL_16(X, 0)
#define GEMM_HALF_TILES(X) GEMM_ONE_HALVES(X) X(9, 1) X(10, 1) X(11, 1) X(12, 1)
#else
#define GEMM_HALF_TILES(X) GEMM_SMALL_16(X, 0) GEMM_SMALL_12(X, 1)
#define GEMM_ONE_HALVES(X) GEMM_HALF_TILES(X) // whole products of one tile
#endif

// v[2j] = b0[j], v[2j+1] = b1[j] (one: 0) for the first w columns.
GEMM_INLINE void GEMM_F(pair_b)(GEMM_F(vec) *v, const GEMM_F(one_u) *b0, const GEMM_F(one_u) *b1, int32_t w, const int one) {
#ifdef GEMM_MODEL
  *v = (GEMM_F(vec)){0};
  for (int j = 0; j < w; j++) (*v)[2 * j] = b0[j], (*v)[2 * j + 1] = one ? 0 : b1[j];
#else
  const __mmask8 in = (__mmask8)((1u << w) - 1);
  if (sizeof(GEMM_S) == 8) {
    const __m512d x = _mm512_castpd256_pd512(_mm256_maskz_loadu_pd(in, b0)), y = one ? (__m512d){0} : _mm512_castpd256_pd512(_mm256_maskz_loadu_pd(in, b1));
    *v = (GEMM_F(vec))_mm512_permutex2var_pd(x, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), y);
  } else {
    const __m512 x = _mm512_castps256_ps512(_mm256_maskz_loadu_ps(in, b0)), y = one ? (__m512){0} : _mm512_castps256_ps512(_mm256_maskz_loadu_ps(in, b1));
    *v = (GEMM_F(vec))_mm512_permutex2var_ps(x, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), y);
  }
#endif
}

// s[2j] += a[0] b[2j], s[2j+1] += a[1] b[2j+1]; one: of the even lanes alone, for no a[1] is there.
GEMM_INLINE void GEMM_F(pair_add)(GEMM_F(vec) *s, const GEMM_F(one_u) *a, const GEMM_F(vec) *b, const int one) {
#ifdef GEMM_MODEL
  for (int j = 0; j < GEMM_LANES; j += 1 + one) (*s)[j] = a[j & 1] * (*b)[j] + (*s)[j];
#else
  if (sizeof(GEMM_S) == 8) {
    const __m512d x = one ? _mm512_set1_pd((double)*a) : _mm512_broadcast_f64x2(_mm_loadu_pd((const double *)a));
    *s = (GEMM_F(vec))(one ? _mm512_mask3_fmadd_pd(x, (__m512d)*b, (__m512d)*s, 0x55) : _mm512_fmadd_pd(x, (__m512d)*b, (__m512d)*s));
  } else {
    const __m512 x = one ? _mm512_set1_ps((float)*a) : (__m512)_mm512_set1_epi64(*(const gemm_u64 *)a);
    *s = (GEMM_F(vec))(one ? _mm512_mask3_fmadd_ps(x, (__m512)*b, (__m512)*s, 0x5555) : _mm512_fmadd_ps(x, (__m512)*b, (__m512)*s));
  }
#endif
}

// Two rows of w columns (the second of none where `two` is 0) from the sums of even and odd k.
GEMM_INLINE void GEMM_F(pair_store)(GEMM_S *c, int64_t ldc, const GEMM_F(vec) *s, const GEMM_F(vec) *t, const int two, int32_t w, const GEMM_S *alpha) {
#ifdef GEMM_MODEL
  for (int j = 0; j < w; j++) {
    const GEMM_S f = alpha ? *alpha : 1;
    c[j] = ((*s)[2 * j] + (*s)[2 * j + 1]) * f;
    if (two) c[ldc + j] = ((*t)[2 * j] + (*t)[2 * j + 1]) * f;
  }
#else
  const __mmask8 in = (__mmask8)((1u << w) - 1);
  const __m512i apart = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7); // quarters hold columns of both rows
  if (sizeof(GEMM_S) == 8) {
    __m512d x = _mm512_unpacklo_pd((__m512d)*s, (__m512d)*t) + _mm512_unpackhi_pd((__m512d)*s, (__m512d)*t);
    if (alpha) x *= _mm512_set1_pd((double)*alpha);
    x = _mm512_permutexvar_pd(apart, x);
    __m256d above = _mm512_castpd512_pd256(x), below = _mm512_extractf64x4_pd(x, 1);
    __asm__("" : "+v"(above), "+v"(below)); // in registers: an extraction to memory, as gcc makes of both, faults beyond the columns, mask or not
    _mm256_mask_storeu_pd(c, in, above);
    if (two) _mm256_mask_storeu_pd(c + ldc, in, below);
  } else {
    __m512 x = _mm512_shuffle_ps((__m512)*s, (__m512)*t, 0x88) + _mm512_shuffle_ps((__m512)*s, (__m512)*t, 0xdd);
    if (alpha) x *= _mm512_set1_ps((float)*alpha);
    x = (__m512)_mm512_permutexvar_pd(apart, (__m512d)x);
    __m256 above = _mm512_castps512_ps256(x), below = _mm512_extractf32x8_ps(x, 1);
    __asm__("" : "+v"(above), "+v"(below));
    _mm256_mask_storeu_ps(c, in, above);
    if (two) _mm256_mask_storeu_ps(c + ldc, in, below);
  }
#endif
}

// c[r x n] = alpha (NULL: 1) * a[r x kc] * b[kc x n], in place: n is v vectors (none or one) and then w columns.
GEMM_TEMPLATE void GEMM_F(half_tile)(const int r, const int v, const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb, int64_t kc, int32_t w,
                                    const GEMM_S *alpha, GEMM_S *c, int64_t ldc) {
  typedef GEMM_F(vec) V;
  enum { L = GEMM_LANES, S = sizeof(GEMM_S), Q = 4 };
  const int pairs = v == 0 ? Q : r <= 8 ? 2 : 1; // of k that go row by row: vectors of B held
  V s[16], f[16];
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) s[i] = f[i] = (V){0};
  const char *pa = (const char *)a, *pb = (const char *)b;
  const int64_t by = lda * S, back = r * by, down = ldb * S;
#define GEMM_HALF_STEPS(n, one)                                                                                       \
  {                                                                                                                   \
    V bv[Q], bf[2 * Q];                                                                                               \
    RIDGE_UNROLL_FULL for (int q = 0; q < n; q++) {                                                                   \
      GEMM_F(pair_b)(&bv[q], (const GEMM_F(one_u) *)pb + v * L, (const GEMM_F(one_u) *)(pb + down) + v * L, w, one);  \
      if (v) {                                                                                                        \
        bf[2 * q] = *(const GEMM_F(vecu) *)pb;                                                                        \
        if (!one) bf[2 * q + 1] = *(const GEMM_F(vecu) *)(pb + down);                                                 \
      }                                                                                                               \
      pb += 2 * down;                                                                                                 \
      __asm__("" : "+r"(pb));                                                                                         \
    }                                                                                                                 \
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {                                                                   \
      RIDGE_UNROLL_FULL for (int q = 0; q < n; q++) {                                                                 \
        const GEMM_F(one_u) *at = (const GEMM_F(one_u) *)pa + 2 * q;                                                  \
        if (v) {                                                                                                      \
          f[i] = at[0] * bf[2 * q] + f[i];                                                                            \
          if (!one) f[i] = at[1] * bf[2 * q + 1] + f[i];                                                              \
        }                                                                                                             \
        GEMM_F(pair_add)(&s[i], at, &bv[q], one);                                                                     \
      }                                                                                                               \
      pa += by;                                                                                                       \
      __asm__("" : "+r"(pa));                                                                                         \
    }                                                                                                                 \
    pa += 2 * n * S - back;                                                                                           \
  }
  int64_t k = kc;
  for (; k >= 2 * pairs; k -= 2 * pairs) GEMM_HALF_STEPS(pairs, 0)
  if (pairs > 1)
    for (; k >= 2; k -= 2) GEMM_HALF_STEPS(1, 0)
  if (k) GEMM_HALF_STEPS(1, 1)
#undef GEMM_HALF_STEPS
  if (v) {
    if (alpha) {
      const V factor = (V){0} + *alpha;
      RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) f[i] *= factor;
    }
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) *(GEMM_F(vecu) *)(c + i * ldc) = f[i];
    c += L;
  }
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i += 2, c += 2 * ldc)
    GEMM_F(pair_store)(c, ldc, &s[i], &s[i + (i + 1 < r)], i + 1 < r, w, alpha);
}
#else
// Half a vector takes half the time where a 512-bit multiply-add has two turns. Alone, or behind one vector, in one tile; kind 2v has all the half's columns, 2v+1
// loads and stores w of them. The multiply-adds spread A themselves, as in gemm_small_tile.h.
//
// Versions, one thread of Zen 4, fp32:
//   the last columns as half a vector, moved back, by a tile of their own: 20 cubed 1.20, 24 cubed 1.22, 33 cubed 1.10, 40 cubed 1.10 times as fast
//   products of up to half a vector, stored under a mask: 8 cubed 1.35, 5x7x9 1.6, 12x5x64 1.95, 1000x7x30 2.16
//   one tile for a vector and a half
#define GEMM_HALF_ROWS {12, 12, 12, 12}
#define GEMM_HALF_TILES(X) GEMM_SMALL_12(X, 0) GEMM_SMALL_12(X, 1) GEMM_SMALL_12(X, 2) GEMM_SMALL_12(X, 3)
#define GEMM_ONE_HALVES(X) GEMM_HALF_TILES(X)
#define GEMM_HALF_KIND(v, w) (2 * (v) + ((w) < GEMM_LANES / 2))
#define GEMM_HALF_FROM(kind) ((kind) / 2 * GEMM_LANES)
#define GEMM_HALF_LEAST(kind) (GEMM_HALF_FROM(kind) + ((kind) % 2 ? 1 : GEMM_LANES / 2))
#define GEMM_HALF_MOST(kind) (GEMM_HALF_FROM(kind) + GEMM_LANES / 2 - (kind) % 2)
#define GEMM_HALF_WIDE (4 * GEMM_LANES) // among more columns it gains nothing
typedef GEMM_S GEMM_F(half) __attribute__((vector_size(GEMM_VEC / 2), may_alias));
typedef GEMM_S GEMM_F(halfu) __attribute__((vector_size(GEMM_VEC / 2), aligned(1), may_alias));

// The first lanes of half a vector.
GEMM_INLINE void GEMM_F(load_half)(GEMM_F(half) *v, const GEMM_S *p, GEMM_LANES_OF in) {
#ifdef GEMM_MODEL
  *v = (GEMM_F(half)){0};
  for (int64_t l = 0; l < in; l++) (*v)[l] = p[l];
#else
  *v = sizeof(GEMM_S) == 8 ? (GEMM_F(half))_mm256_maskz_loadu_pd((__mmask8)in, p) : (GEMM_F(half))_mm256_maskz_loadu_ps((__mmask8)in, p);
#endif
}

GEMM_INLINE void GEMM_F(store_half)(GEMM_S *c, const GEMM_F(half) *v, GEMM_LANES_OF in) {
#ifdef GEMM_MODEL
  for (int64_t l = 0; l < in; l++) c[l] = (*v)[l];
#else
  if (sizeof(GEMM_S) == 8)
    _mm256_mask_storeu_pd(c, (__mmask8)in, (__m256d)*v);
  else
    _mm256_mask_storeu_ps(c, (__mmask8)in, (__m256)*v);
#endif
}

// c[r x n] = alpha (NULL: 1) * a[r x kc] * b[kc x n], in place: n is kind / 2 vectors and then w columns.
GEMM_TEMPLATE void GEMM_F(half_tile)(const int r, const int kind, const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb, int64_t kc, int32_t w,
                                    const GEMM_S *alpha, GEMM_S *c, int64_t ldc) {
  typedef GEMM_F(vec) V;
  typedef GEMM_F(half) H;
  enum { L = GEMM_LANES, S = sizeof(GEMM_S), G = GEMM_SMALL_GROUP };
  const int v = kind / 2, part = kind % 2;
  const GEMM_LANES_OF in = GEMM_F(lanes_of)(w);
  const char *p[12], *pb = (const char *)b;
  int64_t stride[3] = {0, lda * S, 2 * lda * S}, down = ldb * S;
  __asm__("" : "+r"(stride[1]), "+r"(stride[2]), "+r"(down));
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i += G) p[i / G] = (const char *)(a + i * lda);
  V f[12];
  H s[12];
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) f[i] = (V){0}, s[i] = (H){0};
#define GEMM_HALF_STEPS(n)                                                                                         \
  RIDGE_UNROLL_FULL for (int q = 0; q < n; q++) {                                                                 \
    V y;                                                                                                          \
    H x;                                                                                                          \
    if (v) y = *(const GEMM_F(vecu) *)pb;                                                                         \
    if (part)                                                                                                     \
      GEMM_F(load_half)(&x, (const GEMM_S *)pb + v * L, in);                                                      \
    else                                                                                                          \
      x = *(const GEMM_F(halfu) *)((const GEMM_S *)pb + v * L);                                                   \
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {                                                               \
      if (v) GEMM_F(small_row)(&f[i], p[i / G], i % G, stride[i % G], q * S, &y, 1);                              \
      GEMM_SPREAD_ADD(s[i], p[i / G], i % G, stride[i % G], q * S, x, GEMM_SPREAD_HALF);                          \
    }                                                                                                             \
    pb += down;                                                                                                   \
    __asm__("" : "+r"(pb));                                                                                       \
  }                                                                                                               \
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i += G) {                                                              \
    p[i / G] += n * S;                                                                                            \
    __asm__("" : "+r"(p[i / G]));                                                                                 \
  }
  int64_t k = kc;
  for (; k >= 4; k -= 4) { GEMM_HALF_STEPS(4) }
  for (; k > 0; k--) { GEMM_HALF_STEPS(1) }
#undef GEMM_HALF_STEPS
  if (alpha)
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) f[i] *= *alpha, s[i] *= *alpha;
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++, c += ldc) {
    if (v) *(GEMM_F(vecu) *)c = f[i];
    if (part)
      GEMM_F(store_half)(c + v * L, &s[i], in);
    else
      *(GEMM_F(halfu) *)(c + v * L) = s[i];
  }
}
#endif

#define GEMM_HALF_DEFINE(r, kind)                                                                                                            \
  GEMM_NOINLINE void GEMM_F(half_##kind##_##r)(const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb, int64_t kc, int32_t w,          \
                                            const GEMM_S *alpha, GEMM_S *c, int64_t ldc) {                                                 \
    GEMM_F(half_tile)(r, kind, a, lda, b, ldb, kc, w, alpha, c, ldc);                                                                      \
  }
GEMM_HALF_TILES(GEMM_HALF_DEFINE)
#undef GEMM_HALF_DEFINE
typedef void (*GEMM_F(half_fn))(const GEMM_S *, int64_t, const GEMM_S *, int64_t, int64_t, int32_t, const GEMM_S *, GEMM_S *, int64_t);
static const GEMM_F(half_fn) GEMM_F(halves)[][17] = {
#define GEMM_HALF_ENTRY(r, kind) [kind][r] = GEMM_F(half_##kind##_##r),
    GEMM_HALF_TILES(GEMM_HALF_ENTRY)
#undef GEMM_HALF_ENTRY
};
static const int32_t GEMM_F(half_rows)[] = GEMM_HALF_ROWS;

// m rows from i0 and v vectors and w columns from j0 of C, w half a vector at most.
GEMM_NOINLINE void GEMM_F(half_panel)(const ridge_gemm_args *g, int direct, const GEMM_S *a, const GEMM_S *b, int64_t i0, int32_t m, int64_t j0, int v,
                                     int32_t w) {
  enum { L = GEMM_LANES, P = L + L / 2 };
  const int kind = GEMM_HALF_KIND(v, w);
  const int32_t most = GEMM_F(half_rows)[kind], tiles = (m + most - 1) / most;
  const GEMM_S alpha = (GEMM_S)g->alpha;
  GEMM_S t[16 * P] __attribute__((aligned(64)));
  for (int32_t i = 0, n = 0; n < tiles; n++) {
    const int32_t r = m / tiles + (n < m % tiles);
    if (direct) {
      GEMM_F(halves)[kind][r](a + i * g->lda, g->lda, b, g->ldb, g->K, w, alpha == 1 ? NULL : &alpha, (GEMM_S *)g->C + (i0 + i) * g->ldc + j0, g->ldc);
    } else {
      GEMM_F(halves)[kind][r](a + i * g->lda, g->lda, b, g->ldb, g->K, w, NULL, t, P);
      GEMM_F(finish)(g, i0 + i, j0, r, v * L + w, t, P, NULL, 0);
    }
    i += r;
  }
}
#endif
