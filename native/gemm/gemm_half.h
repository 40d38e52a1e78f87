// Vector conversions between a 16-bit stored format and fp32 (template, part of gemm_fma.h):
// GEMM_HALF is GEMM_IS_BF16 or GEMM_IS_FP16.
// bf16 is the upper half of an fp32 number. Rounding as in ridge_half.h: to nearest even.
typedef uint16_t GEMM_F(h) __attribute__((vector_size(GEMM_VEC / 2), may_alias));
typedef uint16_t GEMM_F(hu) __attribute__((vector_size(GEMM_VEC / 2), aligned(1), may_alias));
typedef uint32_t GEMM_F(w) __attribute__((vector_size(GEMM_VEC), may_alias));

GEMM_INLINE void GEMM_F(load_half)(GEMM_F(vec) *v, const uint16_t *p) {
#if GEMM_HALF == GEMM_IS_BF16 && defined(__x86_64__) && !defined(GEMM_MODEL) // gcc's generic widening is two halves joined
#if GEMM_VEC == 64
  *v = (GEMM_F(vec))_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16);
#else
  *v = (GEMM_F(vec))_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16);
#endif
#elif GEMM_HALF == GEMM_IS_BF16
  *v = (GEMM_F(vec))(__builtin_convertvector(*(const GEMM_F(hu) *)p, GEMM_F(w)) << 16);
#elif defined(GEMM_MODEL)
  for (int l = 0; l < GEMM_LANES; l++) (*v)[l] = ridge_fp16_to_float(p[l]);
#elif defined(__aarch64__)
  *v = (GEMM_F(vec))vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
#elif GEMM_VEC == 64
  *v = (GEMM_F(vec))_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#else
  *v = (GEMM_F(vec))_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#endif
}

#if GEMM_HALF == GEMM_IS_BF16 && GEMM_VEC == 64 && defined(__x86_64__) && !defined(GEMM_MODEL) && !defined(GEMM_NARROWS)
// Rounded, in the upper halves: 5 instructions by masks (Emerald Rapids, bf16 1000x300x8 1.24 times as fast as by 11 with the packing, 512x512x64 1.065).
GEMM_INLINE __m512i GEMM_F(rounded)(__m512 v) {
  const __m512i u = (__m512i)v, up = _mm512_add_epi32(u, _mm512_set1_epi32(0x7fff));
  const __m512i even = _mm512_mask_add_epi32(up, _mm512_test_epi32_mask(u, _mm512_set1_epi32(0x10000)), u, _mm512_set1_epi32(0x8000));
  return _mm512_mask_or_epi32(even, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), u, _mm512_set1_epi32(0x400000));
}
#endif

GEMM_INLINE void GEMM_F(store_half)(uint16_t *p, const GEMM_F(vec) *v) {
#if defined(GEMM_NARROWS) && !defined(GEMM_MODEL) // one instruction in place of a dozen; it flushes denormals (of a bias or residual alone, too)
  *(GEMM_F(hu) *)p = (GEMM_F(h))_mm512_cvtneps_pbh((__m512)*v);
#elif GEMM_HALF == GEMM_IS_BF16 && GEMM_VEC == 64 && defined(__x86_64__) && !defined(GEMM_MODEL)
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(GEMM_F(rounded)((__m512)*v), 16)));
#elif GEMM_HALF == GEMM_IS_BF16
  GEMM_F(w) u = (GEMM_F(w))*v;
  GEMM_F(w) nan = (GEMM_F(w))((u & 0x7fffffffu) > 0x7f800000u);
  GEMM_F(w) r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  r = (r & ~nan) | ((u >> 16 | 0x40u) & nan);
  *(GEMM_F(hu) *)p = __builtin_convertvector(r, GEMM_F(h));
#elif defined(GEMM_MODEL)
  for (int l = 0; l < GEMM_LANES; l++) p[l] = ridge_float_to_fp16((*v)[l]);
#elif defined(__aarch64__)
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)*v)));
#elif GEMM_VEC == 64
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph((__m512)*v, 0));
#else
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)*v, 0));
#endif
}

// Two vectors side by side: one store of a line.
#if defined(GEMM_NARROWS) && !defined(GEMM_MODEL)
#define GEMM_STOREV2(p, v, w) _mm512_storeu_si512((p), (__m512i)_mm512_cvtne2ps_pbh((__m512)(w), (__m512)(v)))
#elif GEMM_HALF == GEMM_IS_BF16 && GEMM_VEC == 64 && defined(__x86_64__) && !defined(GEMM_MODEL)
#define GEMM_STOREV2(p, v, w) GEMM_F(store_two)((p), &(v), &(w))
GEMM_INLINE void GEMM_F(store_two)(uint16_t *p, const GEMM_F(vec) *v, const GEMM_F(vec) *w) {
  const __m512i both = _mm512_packus_epi32(_mm512_srli_epi32(GEMM_F(rounded)((__m512)*v), 16), _mm512_srli_epi32(GEMM_F(rounded)((__m512)*w), 16));
  _mm512_storeu_si512(p, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), both));
}
#endif

#if GEMM_HALF == GEMM_IS_BF16
#define GEMM_LOADS(x) ridge_bf16_to_float(x)
#define GEMM_STORES(x) ridge_float_to_bf16(x)
#else
#define GEMM_LOADS(x) ridge_fp16_to_float(x)
#define GEMM_STORES(x) ridge_float_to_fp16(x)
#endif
#define GEMM_LOADV(p) \
  ({ GEMM_F(vec) gemm_v; GEMM_F(load_half)(&gemm_v, (p)); gemm_v; })
#define GEMM_STOREV(p, v) GEMM_F(store_half)((p), &(v))
