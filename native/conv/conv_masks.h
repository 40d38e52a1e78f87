// The end of channels that do not fill a vector, by masks.
#ifndef RIDGE_CONV_MASKS_H
#define RIDGE_CONV_MASKS_H

#include "conv_vector.h"

#if defined(RIDGE_VECTOR_X86) && RIDGE_VL == 16
#define CONV_MASKS
RIDGE_INLINE RIDGE_VT mv load_last(const yt *p, __mmask16 those) {
#if defined(CONV_BF16)
  return (mv)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(those, p)), 16);
#else
  return (mv)_mm512_maskz_loadu_epi32(those, p);
#endif
}

// Those of a vector of sums with their bias to place `at` of y, as finish_vector. scales: theirs, where bytes leave. What a tells comes as values, for
// stores of bytes may change anything.
RIDGE_INLINE RIDGE_VT void finish_masked(mv v, __mmask16 those, void *y, const yt *residual, int act, const float *scales, int64_t at) {
#if defined(CONV_INT8)
  if (scales) {
    const ridge_vf scale = (ridge_vf)_mm512_maskz_loadu_ps(those, scales);
    _mm_mask_storeu_epi8((int8_t *)y + at, those, _mm512_cvtepi32_epi8((__m512i)requantised(v, scale, ridge_requant_low(act))));
    return;
  }
#endif
  (void)scales;
  if (residual) v = plus(v, load_last(residual + at, those));
#if !defined(CONV_INT8)
  if (act == RIDGE_ACT_RELU) v = activate(v, RIDGE_ACT_RELU);
  else if (act != RIDGE_ACT_NONE) v = activate_slowly(v, act);
#endif
#if defined(CONV_BF16)
  yt out[VL];
  store_bf16(out, v);
  _mm256_mask_storeu_epi16((yt *)y + at, those, _mm256_loadu_si256((const __m256i *)out));
#else
  _mm512_mask_storeu_epi32((yt *)y + at, those, (__m512i)v);
#endif
}

// The end of n <= VL channels, theirs the bias (or NULL) and scale, of so many pixels, whose sums lie ld apart and whose places in y begin at `at`.
RIDGE_INLINE RIDGE_VT void finish_column(const ridge_conv_args *a, const yt *biases, const float *scales, const me *sums, int64_t ld, int64_t pixels, int64_t at, int64_t n) {
  const __mmask16 those = (__mmask16)((1u << n) - 1);
  const yt *residual = (const yt *)a->residual;
  void *const y = a->y;
  const int64_t K = a->K;
  const int act = a->act;
  mv bias = {0};
  if (biases) bias = load_last(biases, those);
  for (int64_t i = 0; i < pixels; i++, at += K, sums += ld) {
    mv v = *(const mv_any *)sums;
    if (biases) v = plus(v, bias); // 0 would change -0
    finish_masked(v, those, y, residual, act, scales, at);
  }
}
#endif

#endif
