// The requantising end of int8 convolutions (ridge_conv.h): VL sums of the register tile become VL bytes.
//
// On AVX2: cvtdq2ps, mulps, maxps, minps, cvtps2dq and three instructions that narrow, 9 with the store of 8 bytes, where
// the int32 result takes one store of 32. Both bounds are whole numbers, so they may be applied before the rounding:
// products beyond int32 then cannot wrap, and ReLU is the lower bound 0. Between the product and the rounding
// stands the comparison, so that no compiler can fuse them.
#ifndef RIDGE_CONV_REQUANT_H
#define RIDGE_CONV_REQUANT_H

#include "conv.h"

#if defined(RIDGE_MODEL)
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#if !defined(RIDGE_MODEL)
// scale times sums, rounded and saturated; low: ridge_requant_low.
RIDGE_INLINE RIDGE_VT ridge_vi requantised(ridge_vi sums, ridge_vf scale, float low) {
#if defined(__aarch64__)
  float32x4_t v = vmulq_f32(vcvtq_f32_s32((int32x4_t)sums), (float32x4_t)scale);
  return (ridge_vi)vcvtnq_s32_f32(vminq_f32(vmaxq_f32(v, vdupq_n_f32(low)), vdupq_n_f32(127)));
#elif RIDGE_VL == 16
  __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sums), (__m512)scale);
  return (ridge_vi)_mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(v, _mm512_set1_ps(low)), _mm512_set1_ps(127)));
#else
  __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps((__m256i)sums), (__m256)scale);
  return (ridge_vi)_mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(low)), _mm256_set1_ps(127)));
#endif
}
#endif

// VL sums as bytes to p.
RIDGE_INLINE RIDGE_VT void store_requantised(int8_t *p, ridge_vi sums, ridge_vf scale, float low) {
#if defined(RIDGE_MODEL)
  for (int l = 0; l < RIDGE_VL; l++) p[l] = ridge_requantise((uint32_t)sums[l], scale[l], low);
#else
  const ridge_vi i = requantised(sums, scale, low);
#if defined(__aarch64__)
  int16x4_t half = vmovn_s32((int32x4_t)i);
  uint32_t bytes = vget_lane_u32(vreinterpret_u32_s8(vmovn_s16(vcombine_s16(half, half))), 0);
  memcpy(p, &bytes, sizeof bytes);
#elif RIDGE_VL == 16
  _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8((__m512i)i));
#else
  __m128i half = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)i), _mm256_extracti128_si256((__m256i)i, 1));
  _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(half, half));
#endif
#endif
}

#if RIDGE_VL == 16
// The same of four neighbouring vectors. Where what narrows saturates, the lower bound -128 needs no comparison of its own: a product below int32 is
// rounded to its least value. (The upper one does, for that of a product above it is the same.) 5 instructions a vector and one store of 64 bytes, where
// each alone takes 7 and one of 16.
RIDGE_INLINE RIDGE_VT void store_requantised4(int8_t *p, const ridge_vi sums[4], const float *scales, const int relu) {
#if defined(RIDGE_MODEL)
  for (int l = 0; l < 4 * RIDGE_VL; l++) p[l] = ridge_requantise((uint32_t)sums[l / RIDGE_VL][l % RIDGE_VL], scales[l], relu ? 0 : -128);
#else
  __m512i i[4];
  RIDGE_UNROLL_ALL
  for (int v = 0; v < 4; v++) {
    const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sums[v]), _mm512_loadu_ps(scales + v * RIDGE_VL));
    i[v] = _mm512_cvtps_epi32(_mm512_min_ps(product, _mm512_set1_ps(127)));
  }
  // Each 128-bit lane has four bytes of each vector.
  __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(i[0], i[1]), _mm512_packs_epi32(i[2], i[3]));
  bytes = _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
  if (relu) bytes = _mm512_max_epi8(bytes, _mm512_setzero_si512());
  _mm512_storeu_si512(p, bytes);
#endif
}
#endif

#if RIDGE_VL == 16
// The same of two neighbouring vectors: 6.5 instructions a vector and one store of 32 bytes.
RIDGE_INLINE RIDGE_VT void store_requantised2(int8_t *p, ridge_vi low, ridge_vi high, ridge_vf scale0, ridge_vf scale1, const int relu) {
#if defined(RIDGE_MODEL)
  for (int l = 0; l < RIDGE_VL; l++) {
    p[l] = ridge_requantise((uint32_t)low[l], scale0[l], relu ? 0 : -128);
    p[RIDGE_VL + l] = ridge_requantise((uint32_t)high[l], scale1[l], relu ? 0 : -128);
  }
#else
  const __m512 most = _mm512_set1_ps(127);
  const __m512i i0 = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)low), (__m512)scale0), most));
  const __m512i i1 = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)high), (__m512)scale1), most));
  // Each 128-bit lane has four of each.
  const __m512i pairs = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packs_epi32(i0, i1));
  __m256i bytes = _mm512_cvtsepi16_epi8(pairs);
  if (relu) bytes = _mm256_max_epi8(bytes, _mm256_setzero_si256());
  _mm256_storeu_si256((__m256i *)p, bytes);
#endif
}
#endif

// The same of the even and the odd ones of 2*VL neighbours: bytes meet in the lanes of their pairs, so 4 instructions narrow and join 16.
RIDGE_INLINE RIDGE_VT void store_requantised_pairs(int8_t *p, ridge_vi even, ridge_vi odd, ridge_vf scale, float low) {
#if defined(RIDGE_MODEL)
  for (int l = 0; l < RIDGE_VL; l++) {
    p[2 * l] = ridge_requantise((uint32_t)even[l], scale[l], low);
    p[2 * l + 1] = ridge_requantise((uint32_t)odd[l], scale[l], low);
  }
#else
  const ridge_vi pairs = (requantised(even, scale, low) & 0xff) | (ridge_vi)((ridge_vu)requantised(odd, scale, low) << 8);
#if defined(__aarch64__)
  const int16x4_t half = vmovn_s32((int32x4_t)pairs);
  memcpy(p, &half, sizeof half);
#elif RIDGE_VL == 16
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16((__m512i)pairs));
#else
  _mm_storeu_si128((__m128i *)p, _mm_packs_epi32(_mm256_castsi256_si128((__m256i)pairs), _mm256_extracti128_si256((__m256i)pairs, 1)));
#endif
#endif
}

#endif
