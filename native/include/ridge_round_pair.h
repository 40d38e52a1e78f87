// Two vectors of fp32 numbers rounded to bf16, nearest, ties to even, and joined: `even` in the lower half of each 32-bit lane, `odd` in the
// upper, as memory holds elements whose halves were split by a shift and a mask. Upper halves and
// what is cut off of both are gathered first, so that one operation on 16 bits rounds two numbers: up by 1 where the part cut
// off is more than a half, or a half of an odd number. A carry runs on into the exponent, also from the denormals and to
// infinity. NaN stays NaN without a test: one that comes from bf16 operands, from inf - inf or 0 * inf (the default
// NaN) or through a float64 of these has zeros in the part cut off, so nothing carries out of its mantissa into the sign.
//
// Five operations for two vectors; ten one by one.
#ifndef RIDGE_ROUND_PAIR_H
#define RIDGE_ROUND_PAIR_H

#include "ridge.h"

#if defined(__x86_64__)
#include <immintrin.h>

static inline __attribute__((always_inline, unused)) RIDGE_TARGET_AVX512 __m512i ridge_round_pair_512(__m512i e, __m512i o) {
  const __m512i one = _mm512_set1_epi16(1);
  const __m512i hi = _mm512_mask_alignr_epi8(o, 0x3333333333333333ull, e, e, 2);
  const __m512i lo = _mm512_mask_alignr_epi8(e, 0xccccccccccccccccull, o, o, 14);
  const __m512i last = _mm512_ternarylogic_epi32(lo, hi, one, 0xf8); // lo | (hi & 1)
  return _mm512_mask_add_epi16(hi, _mm512_cmpgt_epu16_mask(last, _mm512_set1_epi16(-0x8000)), hi, one);
}

static inline __attribute__((always_inline, unused)) RIDGE_TARGET_AVX2 __m256i ridge_round_pair_256(__m256i e, __m256i o) {
  const __m256i hi = _mm256_blend_epi16(_mm256_srli_epi32(e, 16), o, 0xaa);
  const __m256i lo = _mm256_blend_epi16(e, _mm256_slli_epi32(o, 16), 0xaa);
  const __m256i up = _mm256_subs_epu16(lo, _mm256_andnot_si256(hi, _mm256_set1_epi16(1))); // from 0x8000 on
  return _mm256_add_epi16(hi, _mm256_srli_epi16(up, 15));
}
#elif defined(__aarch64__)
#include <arm_neon.h>

static inline __attribute__((always_inline, unused)) uint16x8_t ridge_round_pair_128(uint16x8_t e, uint16x8_t o) {
  const uint16x8_t hi = vtrn2q_u16(e, o), lo = vtrn1q_u16(e, o);
  return vsraq_n_u16(hi, vqsubq_u16(lo, vbicq_u16(vdupq_n_u16(1), hi)), 15);
}
#endif

// The same on any vectors of 32-bit unsigned lanes.
#define RIDGE_ROUND_PAIR_PLAIN(e, o) (((e) + ((e) >> 16 & 1) + 0x7fff) >> 16 | (((o) + ((o) >> 16 & 1) + 0x7fff) & 0xffff0000u))

#endif
