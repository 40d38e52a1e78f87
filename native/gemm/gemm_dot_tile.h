// The register tile on vector dot-product instructions (part of gemm_dot.h): per unit of K
// NV loads of B, MR broadcasts of A, MR*NV dot products into MR*NV accumulators.

#if GEMM_KIND != GEMM_FP512
// s += a . b in every lane, a one unit for all lanes.
GEMM_INLINE void GEMM_F(dot)(GEMM_F(vec) *s, uint32_t a, const GEMM_F(vec) *b) {
#if defined(GEMM_MODEL)
  for (int l = 0; l < GEMM_LANES; l++) {
#if GEMM_FLOAT
    uint32_t u = ridge_float_as_u32((*b)[l]);
    (*s)[l] += ridge_u32_as_float(a & 0xffff0000u) * ridge_u32_as_float(u & 0xffff0000u);
    (*s)[l] += ridge_u32_as_float(a << 16) * ridge_u32_as_float(u << 16);
#else
    for (int q = 0; q < 4; q++) {
      const uint32_t u = GEMM_EXACT && GEMM_A_SIGNED ? (*b)[l] : a, i = GEMM_EXACT && GEMM_A_SIGNED ? a : (*b)[l];
      (*s)[l] += (uint32_t)((uint8_t)(u >> 8 * q) * (int8_t)(i >> 8 * q));
    }
#endif
  }
#elif GEMM_KIND == GEMM_MADD256
  *s += (GEMM_F(vec))_mm256_madd_epi16(_mm256_set1_epi32((int)a), (__m256i)*b);
#elif GEMM_KIND == GEMM_VNNI256
  *s = (GEMM_F(vec))_mm256_dpbusd_avx_epi32((__m256i)*s, _mm256_set1_epi32((int)a), (__m256i)*b);
#elif GEMM_KIND == GEMM_VNNI512
  *s = (GEMM_F(vec))_mm512_dpbusd_epi32((__m512i)*s, _mm512_set1_epi32((int)a), (__m512i)*b);
#elif GEMM_KIND == GEMM_BF512
  *s = (GEMM_F(vec))_mm512_dpbf16_ps((__m512)*s, (__m512bh)_mm512_set1_epi32((int)a), (__m512bh)*b);
#elif GEMM_KIND == GEMM_SDOT
  *s = (GEMM_F(vec))vdotq_s32((int32x4_t)*s, vreinterpretq_s8_u32(vdupq_n_u32(a)), (int8x16_t)*b);
#elif GEMM_KIND == GEMM_USDOT
  *s = (GEMM_F(vec))vusdotq_s32((int32x4_t)*s, vreinterpretq_u8_u32(vdupq_n_u32(a)), (int8x16_t)*b);
#endif
}
#endif

#if GEMM_EXACT
#include "gemm_dot_exact.h"
#else
GEMM_NOINLINE void GEMM_F(pack_a)(void *to, const GEMM_TA *a, int64_t ld, int64_t rows, int64_t kc) {
  uint32_t *dst = to;
  const int64_t units = gemm_ceil(kc, GEMM_KU) / GEMM_PK;
  GEMM_PACK_ROWS(GEMM_MR, a, GEMM_TA, GEMM_F(stage_a));
  if (GEMM_FLIP)
    for (int64_t u = 0; u < units * GEMM_MR; u++) dst[u] ^= 0x80808080u;
}

#if GEMM_FLIP
// Fills a panel's head with GEMM_FLIP times the sums of its columns: dot products with ones.
GEMM_INLINE void GEMM_F(column_sums)(char *panel, int64_t units) {
  typedef GEMM_F(vec) V;
  for (int v = 0; v < GEMM_NV; v++) {
    V s = {0};
    for (int64_t u = 0; u < units; u++) {
      V b = *(const GEMM_F(vecu) *)(panel + GEMM_HEAD + (u * GEMM_NR + v * GEMM_LANES) * 4);
      GEMM_F(dot)(&s, 0x01010101u, &b);
    }
    *(GEMM_F(vecu) *)(panel + v * GEMM_VEC) = s * (uint32_t)GEMM_FLIP;
  }
}
#endif

GEMM_NOINLINE void GEMM_F(tile)(int64_t kc, const void *ap, const void *bp, GEMM_S *c, int64_t ldc, int add, const GEMM_F(end) *end) {
  typedef GEMM_F(vec) V;
  typedef GEMM_F(vecu) VU;
  const uint32_t *a = ap;
  const char *b = bp;
  V s[GEMM_MR][GEMM_NV];
  RIDGE_UNROLL(32) for (int i = 0; i < GEMM_MR; i++) {
    RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) {
#if GEMM_FLIP
      s[i][j] = *(const VU *)(b + j * GEMM_VEC);
#else
      s[i][j] = (V){0};
#endif
    }
    __builtin_prefetch(c + i * ldc, 1);
  }
  b += GEMM_HEAD;
  for (int64_t k = 0; k < kc; k += GEMM_PK, a += GEMM_MR, b += GEMM_NR * 4) {
    V bv[GEMM_NV];
    RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) bv[j] = *(const VU *)(b + j * GEMM_VEC);
    RIDGE_UNROLL(32) for (int i = 0; i < GEMM_MR; i++) {
      RIDGE_UNROLL(8) for (int j = 0; j < GEMM_NV; j++) GEMM_F(dot)(&s[i][j], a[i], &bv[j]);
    }
  }
  GEMM_F(tile_end)(&s[0][0], GEMM_MR, GEMM_NV, c, ldc, add, end);
}
#endif
