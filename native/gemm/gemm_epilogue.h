// The end of a product (template): C = act(alpha*sums + beta*D + bias) + residual, rounded once to C's type.
//
// end_all takes vectors of sums in registers: the tile of the packed products calls it behind its loop over k, so that
// a whole tile meets memory only where C, D and the residual are. finish takes sums that lie in L1: parts of tiles and
// the ways for few rows. Per vector of AVX2 a factor is 1 instruction, a bias 1 (loaded once for a tile), beta*D 1, a residual 1, ReLU
// 1, the store 1: 24 on a tile of 6x16 with bias and ReLU beside 12 * K multiply-adds. Other activations put the tile into
// L1 (gemm_act.h), 24 more instructions than their arithmetic (12 * 47 for GELU, 12 * 28 for SiLU).
//
// One Zen 3 core, fp32, B stored [N,K], time over the plain product's (medians of interleaved rounds), before (row by row through two
// arrays, activations two vectors at a time) and this:
//   64x1024x1024  bias 1.05, 1.01; ReLU 1.05, 1.00; GELU 1.37, 1.05; SiLU 1.18, 1.03
//   128x512x512   bias 1.07, 1.00; ReLU 1.11, 1.01; GELU 1.68, 1.08; SiLU 1.43, 1.06
//   512x1024x1024 bias 1.07, 1.01; ReLU 1.08, 1.01; GELU 1.42, 1.03; SiLU 1.15, 1.04
//   1x1024x1024   GELU 1.10, 1.02; SiLU 1.06, 1.01; 8 rows GELU 1.11, 1.02; SiLU 1.06, 1.01
//   batch 8 of 512x64x512 with a factor 1.43, 1.01; batch 4 of 256x64x256 1.32, 1.03; 128x64x128 (a small product) 1.31, 1.29
// Small products hand their tiles over in L1: with the end inside their tiles gcc spilled a sum of the tile of 6x2. Only the factor is in
// them: over a product and a pass that scales, 2 threads, 8 x 32x64x32 0.83 -> 1.06, 8 x 64x64x64 0.92 -> 1.07, 128x64x128 0.93 -> 1.12.
//
// Integer sums with a scale become bytes (GEMM_REQUANT).
//
// Macros: GEMM_S accumulator, GEMM_TC stored type, GEMM_LOADS(x) stored value to GEMM_S,
// GEMM_STORES(x) back; GEMM_LOADV(p) a vector GEMM_F(vec) of GEMM_LANES stored values; GEMM_STOREV(p, v) stores one;
// GEMM_NO_ACT for kernels without activations.

#ifndef GEMM_LOADV
#define GEMM_LOADV(p) (*(const GEMM_F(vecu) *)(p))
#endif
#ifndef GEMM_STOREV
#define GEMM_STOREV(p, v) (*(GEMM_F(vecu) *)(p) = (v))
#endif

#ifndef GEMM_NO_ACT
// raise: *x = max(*x, to), lower: *x = min(*x, to); NaN stays. Through pointers: how wide vectors are passed differs by compiler.
#if defined(GEMM_MODEL)
#define GEMM_LIMIT(op, better) \
  for (int l = 0; l < GEMM_LANES; l++) (*x)[l] = v[l] better (*x)[l] ? v[l] : (*x)[l]
#elif defined(__aarch64__)
#define GEMM_LIMIT(op, better) *x = (GEMM_F(vec))v##op##q_f32((float32x4_t)v, (float32x4_t)*x)
#elif GEMM_VEC == 64
#define GEMM_LIMIT(op, better) *x = (GEMM_F(vec))_mm512_##op##_ps((__m512)v, (__m512)*x)
#else
#define GEMM_LIMIT(op, better) *x = (GEMM_F(vec))_mm256_##op##_ps((__m256)v, (__m256)*x)
#endif
GEMM_INLINE void GEMM_F(raise)(GEMM_F(vec) *x, float to) {
  const GEMM_F(vec) v = (GEMM_F(vec)){0} + to;
  GEMM_LIMIT(max, >);
}
GEMM_INLINE void GEMM_F(lower)(GEMM_F(vec) *x, float to) {
  const GEMM_F(vec) v = (GEMM_F(vec)){0} + to;
  GEMM_LIMIT(min, <);
}
#undef GEMM_LIMIT
#include "gemm_act.h"
#endif

#ifdef GEMM_REQUANT
// A vector of sums as bytes to p: ridge_requant.h, in its order. On AVX2 9 instructions with the store of 8 bytes, where the sums take one
// store of 32.
GEMM_INLINE void GEMM_F(store_bytes)(int8_t *p, const GEMM_F(vec) *s, const float *scale, float low) {
#if defined(GEMM_MODEL)
  for (int l = 0; l < GEMM_LANES; l++) p[l] = ridge_requant_one((int32_t)(*s)[l], scale[l], low);
#elif defined(__aarch64__)
  float32x4_t v = vmulq_f32(vcvtq_f32_s32((int32x4_t)*s), vld1q_f32(scale));
  v = vminq_f32(vmaxq_f32(v, vdupq_n_f32(low)), vdupq_n_f32(127));
  const int16x4_t half = vmovn_s32(vcvtnq_s32_f32(v));
  const uint32_t bytes = vget_lane_u32(vreinterpret_u32_s8(vmovn_s16(vcombine_s16(half, half))), 0);
  memcpy(p, &bytes, sizeof bytes);
#elif GEMM_VEC == 64
  __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)*s), _mm512_loadu_ps(scale));
  v = _mm512_min_ps(_mm512_max_ps(v, _mm512_set1_ps(low)), _mm512_set1_ps(127));
  _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
#else
  __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps((__m256i)*s), _mm256_loadu_ps(scale));
  v = _mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(low)), _mm256_set1_ps(127));
  const __m256i i = _mm256_cvtps_epi32(v);
  const __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
  _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(half, half));
#endif
}
#endif

// Where the results of sums from element (i, j) on go, and what is added.
typedef struct GEMM_F(end) {
  GEMM_S alpha, beta;
  const GEMM_TC *d, *bias, *residual; // of the element, or NULL
  GEMM_TC *c;
  int64_t ldd, ldc;
  int act;
#ifdef GEMM_REQUANT
  const float *scale; // of the element, or NULL
  int8_t *bytes;      // with a scale in place of c
#endif
} GEMM_F(end);

RIDGE_INLINE GEMM_F(end) GEMM_F(end_at)(const ridge_gemm_args *g, int64_t i, int64_t j) {
  GEMM_F(end) e;
  memset(&e, 0, sizeof e);
  e.alpha = (GEMM_S)g->alpha, e.beta = (GEMM_S)g->beta;
  e.c = (GEMM_TC *)g->C + i * g->ldc + j, e.ldd = g->ldd, e.ldc = g->ldc, e.act = g->act;
#ifdef GEMM_REQUANT
  if (g->scale) e.scale = g->scale + j, e.bytes = (int8_t *)g->C + i * g->ldc + j;
#endif
  if (g->beta != 0) e.d = (const GEMM_TC *)g->D + i * g->ldd + j;
  if (g->bias) e.bias = (const GEMM_TC *)g->bias + j;
  if (g->residual) e.residual = (const GEMM_TC *)g->residual + i * g->ldc + j;
  return e;
}

// h rows of w vectors of sums, s[i*w + j], from the element on. The steps go over all of them, not row by
// row, so that each asks once whether there is something to do.
GEMM_INLINE void GEMM_F(end_all)(const GEMM_F(end) *e, GEMM_F(vec) *s, const int h, const int w) {
  typedef GEMM_F(vec) V;
  if (e->alpha != 1) {
    const V alpha = (V){0} + e->alpha;
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++)
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[i * w + j] *= alpha;
  }
  if (e->d) {
    const V beta = (V){0} + e->beta;
    const GEMM_TC *d = e->d;
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, d += e->ldd)
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[i * w + j] += beta * GEMM_LOADV(d + j * GEMM_LANES);
  }
  if (e->bias) {
    RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) {
      const V bias = GEMM_LOADV(e->bias + j * GEMM_LANES);
      RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) s[i * w + j] += bias;
    }
  }
#ifndef GEMM_NO_ACT
  if (e->act == RIDGE_ACT_RELU) {
    RIDGE_UNROLL_FULL for (int i = 0; i < h * w; i++) GEMM_F(raise)(&s[i], 0);
  }
  if (e->act > RIDGE_ACT_RELU) { // by way of a copy, so that the sums need no address before
    V t[32];
    RIDGE_UNROLL_FULL for (int i = 0; i < h * w; i++) t[i] = s[i];
    GEMM_F(activate)(t, h * w, e->act);
    RIDGE_UNROLL_FULL for (int i = 0; i < h * w; i++) s[i] = t[i];
  }
#endif
  if (e->residual) {
    const GEMM_TC *r = e->residual;
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, r += e->ldc)
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[i * w + j] += GEMM_LOADV(r + j * GEMM_LANES);
  }
#ifdef GEMM_REQUANT
  if (e->scale) {
    const float low = e->act == RIDGE_ACT_RELU ? 0 : -128;
    int8_t *p = e->bytes;
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, p += e->ldc)
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) GEMM_F(store_bytes)(p + j * GEMM_LANES, &s[i * w + j], e->scale + j * GEMM_LANES, low);
    return;
  }
#endif
  GEMM_TC *c = e->c;
#ifdef GEMM_STOREV2
  if (w % 2 == 0) {
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, c += e->ldc)
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j += 2) GEMM_STOREV2(c + j * GEMM_LANES, s[i * w + j], s[i * w + j + 1]);
    return;
  }
#endif
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, c += e->ldc)
    RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) GEMM_STOREV(c + j * GEMM_LANES, s[i * w + j]);
}

// The first n bytes, fewer than `whole`, of a vector of so many: from memory that ends with them (what follows is zero), and to it. Where there are no masks the
// parts meet in registers: a vector is not read soon from memory that was written in parts.
GEMM_INLINE void GEMM_F(some_from)(void *v, const void *p, int64_t n, const int whole) {
#if GEMM_VEC == 64 && defined(__x86_64__) && !defined(GEMM_MODEL)
  const uint64_t in = (1ull << n) - 1;
  if (whole == 64) *(__m512i *)v = _mm512_maskz_loadu_epi8(in, p);
  if (whole == 32) *(__m256i *)v = _mm256_maskz_loadu_epi8((__mmask32)in, p);
  if (whole == 16) *(__m128i *)v = _mm_maskz_loadu_epi8((__mmask16)in, p);
#elif !defined(GEMM_MODEL)
  if (whole <= 16) {
    const char *s = p;
    uint64_t first = 0, rest = 0;
    int at = 0;
    if (n & 8) first = *(const gemm_u64 *)s, s += 8;
    if (n & 4) rest = *(const gemm_u32 *)s, s += 4, at = 32;
    if (n & 2) rest |= (uint64_t)*(const gemm_u16 *)s << at, s += 2, at += 16;
    if (n & 1) rest |= (uint64_t)*(const uint8_t *)s << at;
    const gemm_u64x2 both = {n & 8 ? first : rest, n & 8 ? rest : 0};
    memcpy(v, &both, (size_t)whole);
    return;
  }
#if defined(__x86_64__)
  const __m256i in = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n / 4), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  *(__m256i *)v = _mm256_maskload_epi32(p, in);
#endif
#else
  memset(v, 0, (size_t)whole);
  memcpy(v, p, (size_t)n);
#endif
}
GEMM_INLINE void GEMM_F(some_to)(void *p, const void *v, int64_t n, const int whole) {
#if GEMM_VEC == 64 && defined(__x86_64__) && !defined(GEMM_MODEL)
  const uint64_t in = (1ull << n) - 1;
  if (whole == 64) _mm512_mask_storeu_epi8(p, in, *(const __m512i *)v);
  if (whole == 32) _mm256_mask_storeu_epi8(p, (__mmask32)in, *(const __m256i *)v);
  if (whole == 16) _mm_mask_storeu_epi8(p, (__mmask16)in, *(const __m128i *)v);
#else
  int64_t at = 0;
  RIDGE_UNROLL_FULL for (int w = whole / 2; w > 0; w /= 2)
    if (n & w) memcpy((char *)p + at, (const char *)v + at, (size_t)w), at += w;
#endif
}

// m rows of n < GEMM_LANES sums: the same on one vector, past copies of what lies beside it. One by one they were half of a narrow product's
// time: Emerald Rapids, bf16 256x7x33 1.85, 768x7x64 1.75 times as fast so.
GEMM_NOINLINE void GEMM_F(end_some)(const GEMM_F(end) *whole, int64_t m, int64_t n, const GEMM_S *t, int64_t ldt, const GEMM_S *prev, int64_t ldprev) {
  enum { L = GEMM_LANES, T = sizeof(GEMM_TC), S = sizeof(GEMM_S) };
  GEMM_TC c[L] __attribute__((aligned(64))), d[L] __attribute__((aligned(64))), bias[L] __attribute__((aligned(64))), residual[L] __attribute__((aligned(64)));
  GEMM_F(end) e = *whole;
  e.c = c;
  if (e.d) e.d = d;
  if (e.residual) e.residual = residual;
  if (e.bias) GEMM_F(some_from)(bias, e.bias, n * T, L * T), e.bias = bias;
#ifdef GEMM_REQUANT
  float scale[L] __attribute__((aligned(64)));
  int8_t bytes[L] __attribute__((aligned(64)));
  if (e.scale) GEMM_F(some_from)(scale, e.scale, n * 4, L * 4), e.scale = scale, e.bytes = bytes;
#endif
  for (int64_t i = 0; i < m; i++) {
    GEMM_F(vec) v, before;
    GEMM_F(some_from)(&v, t + i * ldt, n * S, L * S);
    if (prev) GEMM_F(some_from)(&before, prev + i * ldprev, n * S, L * S), v += before;
    if (e.d) GEMM_F(some_from)(d, whole->d + i * e.ldd, n * T, L * T);
    if (e.residual) GEMM_F(some_from)(residual, whole->residual + i * e.ldc, n * T, L * T);
    GEMM_F(end_all)(&e, &v, 1, 1);
#ifdef GEMM_REQUANT
    if (e.scale) {
      GEMM_F(some_to)(whole->bytes + i * e.ldc, bytes, n, L);
      continue;
    }
#endif
    GEMM_F(some_to)(whole->c + i * e.ldc, c, n * T, L * T);
  }
}

// Moves to the element n columns further on.
GEMM_INLINE void GEMM_F(end_right)(GEMM_F(end) *e, int64_t n) {
  e->c += n;
  if (e->d) e->d += n;
  if (e->bias) e->bias += n;
  if (e->residual) e->residual += n;
#ifdef GEMM_REQUANT
  if (e->scale) e->scale += n, e->bytes += n;
#endif
}

// Moves to the element n rows further down.
GEMM_INLINE void GEMM_F(end_down)(GEMM_F(end) *e, int64_t n) {
  e->c += n * e->ldc;
  if (e->d) e->d += n * e->ldd;
  if (e->residual) e->residual += n * e->ldc;
#ifdef GEMM_REQUANT
  if (e->scale) e->bytes += n * e->ldc;
#endif
}

// h rows of w vectors of sums t, plus prev where there is one.
GEMM_INLINE void GEMM_F(end_part)(const GEMM_F(end) *e, const GEMM_S *t, int64_t ldt, const GEMM_S *prev, int64_t ldprev,
                                  const int h, const int w) {
  enum { L = GEMM_LANES };
  GEMM_F(vec) s[8];
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++)
    RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[i * w + j] = *(const GEMM_F(vecu) *)(t + i * ldt + j * L);
  if (prev)
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++)
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[i * w + j] += *(const GEMM_F(vecu) *)(prev + i * ldprev + j * L);
  GEMM_F(end_all)(e, s, h, w);
}

// The end of a tile of h x w vectors: sums of earlier blocks of K in c are added when add; then the sums go through the
// end, or to c where there is none.
GEMM_INLINE void GEMM_F(tile_end)(GEMM_F(vec) *s, const int h, const int w, GEMM_S *c, int64_t ldc, int add,
                                  const GEMM_F(end) *end) {
  typedef GEMM_F(vecu) VU;
  char *p = (char *)c; // the compiler is kept from deriving an address for every row, which it would spill
  ldc *= (int64_t)sizeof(GEMM_S);
  if (add) {
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, p += ldc) {
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[i * w + j] += *(const VU *)(p + j * GEMM_VEC);
      __asm__("" : "+r"(p));
    }
  }
  if (end) {
    GEMM_F(end_all)(end, s, h, w);
    return;
  }
  p = (char *)c;
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, p += ldc) {
    RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) *(VU *)(p + j * GEMM_VEC) = s[i * w + j];
    __asm__("" : "+r"(p));
  }
}

// Whether C is just the product with a factor.
RIDGE_INLINE int GEMM_F(only_scaled)(const ridge_gemm_args *g) {
  return g->beta == 0 && !g->bias && !g->residual && g->act == RIDGE_ACT_NONE && !g->scale;
}

// Whether C is just the product, so that a tile may be stored straight to it.
RIDGE_INLINE int GEMM_F(plain)(const ridge_gemm_args *g) { return g->alpha == 1 && GEMM_F(only_scaled)(g); }

// Whether sums of blocks of K can accumulate in C.
RIDGE_INLINE int GEMM_F(in_c)(const ridge_gemm_args *g) { return GEMM_C_IS_S && !g->scale; }

#if !GEMM_C_IS_S
// The same of sums that are only rounded.
GEMM_INLINE void GEMM_F(round_rows)(GEMM_TC *c, int64_t ldc, int64_t m, int64_t n, const GEMM_S *t, int64_t ldt) {
  enum { L = GEMM_LANES, T = sizeof(GEMM_TC) };
  if (ldc == n && ldt == n) n *= m, m = 1; // one run
  for (int64_t i = 0; i < m; i++, c += ldc, t += ldt) {
    GEMM_F(vec) v;
    int64_t j = 0;
#ifdef GEMM_STOREV2
    for (; j + 2 * L <= n; j += 2 * L) {
      const GEMM_F(vec) w = *(const GEMM_F(vecu) *)(t + j + L);
      v = *(const GEMM_F(vecu) *)(t + j);
      GEMM_STOREV2(c + j, v, w);
    }
#endif
    for (; j + L <= n; j += L) {
      v = *(const GEMM_F(vecu) *)(t + j);
      GEMM_STOREV(c + j, v);
    }
    if (j == n) continue;
    if (n > L) { // moved back to end with the row: whole
      v = *(const GEMM_F(vecu) *)(t + n - L);
      GEMM_STOREV(c + n - L, v);
      continue;
    }
    GEMM_TC some[L] __attribute__((aligned(64)));
    GEMM_F(some_from)(&v, t + j, (n - j) * (int64_t)sizeof(GEMM_S), GEMM_VEC);
    GEMM_STOREV(some, v);
    GEMM_F(some_to)(c + j, some, (n - j) * T, L * T);
  }
}
#endif

// m x n sums t from element (i0, j0) on, prev the sums of earlier blocks of K or NULL: parts of 4 or 2 rows by 2 vectors, which
// share what is asked and loaded once, and of one row by 4 vectors.
GEMM_NOINLINE void GEMM_F(finish)(const ridge_gemm_args *g, int64_t i0, int64_t j0, int64_t m, int64_t n, const GEMM_S *t,
                                  int64_t ldt, const GEMM_S *prev, int64_t ldprev) {
  enum { L = GEMM_LANES };
#if !GEMM_C_IS_S
  if (!prev && GEMM_F(plain)(g)) {
    GEMM_F(round_rows)((GEMM_TC *)g->C + i0 * g->ldc + j0, g->ldc, m, n, t, ldt);
    return;
  }
#endif
  const int64_t whole = n / L;
#define GEMM_PART(h, w) \
  GEMM_F(end_part)(&e, t + i * ldt + j * L, ldt, prev ? prev + i * ldprev + j * L : NULL, ldprev, h, w), GEMM_F(end_right)(&e, (w) * L), j += (w)
  for (int64_t i = 0, h; whole > 0 && i < m; i += h) {
    GEMM_F(end) e = GEMM_F(end_at)(g, i0 + i, j0);
    int64_t j = 0;
    h = i + 4 <= m ? 4 : i + 2 <= m ? 2 : 1;
    if (h == 4) {
      while (j + 2 <= whole) GEMM_PART(4, 2);
      while (j < whole) GEMM_PART(4, 1);
    } else if (h == 2) {
      while (j + 2 <= whole) GEMM_PART(2, 2);
      while (j < whole) GEMM_PART(2, 1);
    } else {
      while (j + 4 <= whole) GEMM_PART(1, 4);
      while (j < whole) GEMM_PART(1, 1);
    }
  }
#undef GEMM_PART
  const int64_t done = whole * L;
  if (done == n) return;
  const GEMM_F(end) some = GEMM_F(end_at)(g, i0, j0 + done);
  GEMM_F(end_some)(&some, m, n - done, t + done, ldt, prev ? prev + done : NULL, ldprev);
}
