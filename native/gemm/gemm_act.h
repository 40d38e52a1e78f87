// Activations on vectors of accumulators (template: GEMM_TARGET, GEMM_NAME, GEMM_F(vec) of float).
//
// exp: 2^n * e^r with r in [-ln2/2, ln2/2], Taylor to r^7 (remainder < 6e-9). erf: Abramowitz
// and Stegun 7.1.26, absolute error 1.5e-7; GELU multiplies it by x/2, so the error is at
// most 1.3 u(fp32) * |x| plus rounding, inside the bound 4u * (1.13*magnitude + |x|).
//
// What is rounded to 16 bits does with less (as native/include/ridge_vecmath_half.h): 2^x by a polynomial of degree 4, relative error 2^-18.5, GELU by tables
// of degree 5, 2^-18.4.
//
// Each is one chain of some 25 operations of 4 cycles, so that groups of vectors go through it side by side:
// per vector on AVX2 GELU has 22 multiplications or multiply-adds, a division, 9 others and 15 moves (counted in gcc's code: 47
// instructions), GELU by tanh 14, 1, 7 and 9 (31), SiLU 11, 1, 8 and 8 (28). NaN stays NaN.

// Below this the activations are less than 1e-36 in size, and at -infinity, where x times a
// factor of zero would be NaN, their limit is 0.
#if defined(__x86_64__) && !defined(GEMM_MODEL)
#include <immintrin.h>
#endif
#include "../include/ridge_gelu_table.h"
#ifndef GEMM_ACT_ZERO
#define GEMM_ACT_ZERO (-88.0f)
#define GEMM_ACT_GROUP 4
#define GEMM_EACH RIDGE_UNROLL_FULL for (int u = 0; u < n; u++)
#endif

typedef int32_t GEMM_F(bits) __attribute__((vector_size(GEMM_VEC), may_alias));

// y where x is at least GEMM_ACT_ZERO or NaN, else -0.
GEMM_INLINE void GEMM_F(limit)(GEMM_F(vec) *y, const GEMM_F(vec) *x) {
  const GEMM_F(bits) low = (GEMM_F(bits))(*x < GEMM_ACT_ZERO);
  *y = (GEMM_F(vec))((low & INT32_MIN) | (~low & (GEMM_F(bits))*y));
}

// x = e^x for n vectors.
GEMM_INLINE void GEMM_F(exp)(GEMM_F(vec) *x, const int n) {
  typedef GEMM_F(vec) V;
  V m[GEMM_ACT_GROUP], p[GEMM_ACT_GROUP];
  GEMM_EACH GEMM_F(raise)(&x[u], -87.0f);
  GEMM_EACH GEMM_F(lower)(&x[u], 88.0f);
  // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits.
  GEMM_EACH m[u] = x[u] * 1.44269504f + 12582912.0f;
  GEMM_EACH p[u] = m[u] - 12582912.0f;
#ifdef GEMM_HALF
  GEMM_EACH x[u] = x[u] * 1.44269504f - p[u];
  GEMM_EACH p[u] = x[u] * 0.00957010191f + 0.0559178603f;
  GEMM_EACH p[u] = p[u] * x[u] + 0.240247448f;
  GEMM_EACH p[u] = p[u] * x[u] + 0.693121815f;
  GEMM_EACH p[u] = p[u] * x[u] + 0.999999261f;
  GEMM_EACH x[u] = (V)((GEMM_F(bits))p[u] + ((GEMM_F(bits))m[u] << 23));
#else
  GEMM_EACH x[u] = x[u] - p[u] * 0.693359375f; // ln 2 in two parts: the first has 9 bits, the product is exact
  GEMM_EACH x[u] = x[u] - p[u] * -2.12194440e-4f;
  GEMM_EACH p[u] = x[u] * (1.0f / 5040) + 1.0f / 720;
  GEMM_EACH p[u] = p[u] * x[u] + 1.0f / 120;
  GEMM_EACH p[u] = p[u] * x[u] + 1.0f / 24;
  GEMM_EACH p[u] = p[u] * x[u] + 1.0f / 6;
  GEMM_EACH p[u] = p[u] * x[u] + 0.5f;
  GEMM_EACH p[u] = p[u] * x[u] + 1.0f;
  GEMM_EACH p[u] = p[u] * x[u] + 1.0f;
  GEMM_EACH x[u] = p[u] * (V)(((GEMM_F(bits))m[u] << 23) + 0x3f800000);
#endif
}

#if GEMM_VEC == 64 && !defined(GEMM_MODEL) && defined(__x86_64__)
// max(x, 0) - w(|x|) by tables (ridge_gelu_table.h): 9 permutations, 8 multiply-adds, a product and 8 others a vector (to 16 bits 7 and 6), no division. Beyond the table's end w is
// below 5e-15 and left out. NaN stays NaN. Granite Rapids, two threads, linear with GELU (two rows of tiles' sums side by side counted in): bf16 on tiles 512x1024x1024 1.13
// times as fast, 128x512x512 1.25, fp32 1.01 and 1.02.
GEMM_INLINE __m512 GEMM_F(gelu_part)(const float *t, __m512i i) { return _mm512_permutex2var_ps(_mm512_load_ps(t), i, _mm512_load_ps(t + 16)); }
GEMM_INLINE void GEMM_F(gelu)(GEMM_F(vec) *x, const int n) {
  __m512 a[GEMM_ACT_GROUP], d[GEMM_ACT_GROUP], e[GEMM_ACT_GROUP], p[GEMM_ACT_GROUP], q[GEMM_ACT_GROUP], w[GEMM_ACT_GROUP];
  __m512i i[GEMM_ACT_GROUP];
  const __m512 end = _mm512_set1_ps(GELU_TABLE_END), bend = _mm512_set1_ps(GELU_TABLE_BEND), whole = _mm512_set1_ps(4 * 12582912.0f);
  GEMM_EACH a[u] = _mm512_min_ps(_mm512_abs_ps((__m512)x[u]), end);
  GEMM_EACH i[u] = _mm512_castps_si512(_mm512_fmadd_ps(a[u], _mm512_add_ps(a[u], bend), whole));
  GEMM_EACH d[u] = _mm512_sub_ps(a[u], GEMM_F(gelu_part)(gelu_table[0], i[u]));
  GEMM_EACH e[u] = _mm512_mul_ps(d[u], d[u]);
#ifdef GEMM_HALF
  GEMM_EACH w[u] = _mm512_fmadd_ps(GEMM_F(gelu_part)(gelu_half_table[5], i[u]), d[u], GEMM_F(gelu_part)(gelu_half_table[4], i[u]));
  GEMM_EACH p[u] = _mm512_fmadd_ps(GEMM_F(gelu_part)(gelu_half_table[3], i[u]), d[u], GEMM_F(gelu_part)(gelu_half_table[2], i[u]));
  GEMM_EACH q[u] = _mm512_fmadd_ps(GEMM_F(gelu_part)(gelu_half_table[1], i[u]), d[u], GEMM_F(gelu_part)(gelu_half_table[0], i[u]));
  GEMM_EACH w[u] = _mm512_fmadd_ps(w[u], e[u], p[u]);
  GEMM_EACH w[u] = _mm512_fmadd_ps(w[u], e[u], q[u]);
#else
  GEMM_EACH w[u] = _mm512_fmadd_ps(GEMM_F(gelu_part)(gelu_table[8], i[u]), d[u], GEMM_F(gelu_part)(gelu_table[7], i[u]));
  GEMM_EACH p[u] = _mm512_fmadd_ps(GEMM_F(gelu_part)(gelu_table[6], i[u]), d[u], GEMM_F(gelu_part)(gelu_table[5], i[u]));
  GEMM_EACH q[u] = _mm512_fmadd_ps(GEMM_F(gelu_part)(gelu_table[4], i[u]), d[u], GEMM_F(gelu_part)(gelu_table[3], i[u]));
  GEMM_EACH w[u] = _mm512_fmadd_ps(w[u], e[u], p[u]);
  GEMM_EACH w[u] = _mm512_fmadd_ps(w[u], e[u], q[u]);
  GEMM_EACH w[u] = _mm512_fmadd_ps(w[u], d[u], GEMM_F(gelu_part)(gelu_table[2], i[u]));
  GEMM_EACH w[u] = _mm512_fmadd_ps(w[u], d[u], GEMM_F(gelu_part)(gelu_table[1], i[u]));
#endif
  GEMM_EACH w[u] = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a[u], end, _CMP_LT_OQ), w[u]);
  GEMM_EACH x[u] = (GEMM_F(vec))_mm512_sub_ps(_mm512_max_ps(_mm512_set1_ps(-0.0f), (__m512)x[u]), w[u]);
}
#else
// x/2 * (1 + erf(x/sqrt 2)), odd part by |x|.
GEMM_INLINE void GEMM_F(gelu)(GEMM_F(vec) *x, const int n) {
  typedef GEMM_F(vec) V;
  V t[GEMM_ACT_GROUP], e[GEMM_ACT_GROUP], p[GEMM_ACT_GROUP];
  GEMM_EACH t[u] = (V)((GEMM_F(bits))x[u] & INT32_MAX) * 0.70710678f;
  GEMM_EACH e[u] = -t[u] * t[u];
  GEMM_EACH t[u] = 1.0f / (1.0f + 0.3275911f * t[u]);
  GEMM_F(exp)(e, n);
  GEMM_EACH p[u] = 1.061405429f * t[u] - 1.453152027f;
  GEMM_EACH p[u] = p[u] * t[u] + 1.421413741f;
  GEMM_EACH p[u] = p[u] * t[u] - 0.284496736f;
  GEMM_EACH p[u] = p[u] * t[u] + 0.254829592f;
  GEMM_EACH p[u] = 1.0f - p[u] * t[u] * e[u];
  GEMM_EACH p[u] = 0.5f * (x[u] + (V)((GEMM_F(bits))x[u] & INT32_MAX) * p[u]);
  GEMM_EACH GEMM_F(limit)(&p[u], &x[u]);
  GEMM_EACH x[u] = p[u];
}

#endif

// x/2 * (1 + tanh v) = x / (1 + exp(-2v)).
GEMM_INLINE void GEMM_F(gelu_tanh)(GEMM_F(vec) *x, const int n) {
  GEMM_F(vec) e[GEMM_ACT_GROUP];
  GEMM_EACH e[u] = x[u] * x[u] * -0.07135481f - 1.59576912f;
  GEMM_EACH e[u] = x[u] * e[u];
  GEMM_F(exp)(e, n);
  GEMM_EACH e[u] = x[u] / (1.0f + e[u]);
  GEMM_EACH GEMM_F(limit)(&e[u], &x[u]);
  GEMM_EACH x[u] = e[u];
}

GEMM_INLINE void GEMM_F(silu)(GEMM_F(vec) *x, const int n) {
  GEMM_F(vec) e[GEMM_ACT_GROUP];
  GEMM_EACH e[u] = -x[u];
  GEMM_F(exp)(e, n);
  GEMM_EACH e[u] = x[u] / (1.0f + e[u]);
  GEMM_EACH GEMM_F(limit)(&e[u], &x[u]);
  GEMM_EACH x[u] = e[u];
}

#define GEMM_ACT(f)                                                              \
  do {                                                                           \
    for (; n >= GEMM_ACT_GROUP; n -= GEMM_ACT_GROUP, x += GEMM_ACT_GROUP) {      \
      GEMM_F(vec) g[GEMM_ACT_GROUP];                                             \
      RIDGE_UNROLL_FULL for (int u = 0; u < GEMM_ACT_GROUP; u++) g[u] = x[u];    \
      GEMM_F(f)(g, GEMM_ACT_GROUP);                                              \
      RIDGE_UNROLL_FULL for (int u = 0; u < GEMM_ACT_GROUP; u++) x[u] = g[u];    \
    }                                                                            \
    for (; n > 0; n--, x++) {                                                    \
      GEMM_F(vec) one = *x;                                                      \
      GEMM_F(f)(&one, 1);                                                        \
      *x = one;                                                                  \
    }                                                                            \
  } while (0)

// n vectors in memory. RELU is not among them: it is one instruction.
GEMM_NOINLINE void GEMM_F(activate)(GEMM_F(vec) *x, int n, int act) {
  switch (act) {
    case RIDGE_ACT_GELU: GEMM_ACT(gelu); break;
    case RIDGE_ACT_GELU_TANH: GEMM_ACT(gelu_tanh); break;
    case RIDGE_ACT_SILU: GEMM_ACT(silu); break;
  }
}
#undef GEMM_ACT
