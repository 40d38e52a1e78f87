// Vectors of RIDGE_VL 32-bit lanes in GNU C, which lower to any instruction set, and the few
// functions on them that conv and attention share. Unlike intrinsics, the same text is the real
// kernel under a target attribute and a portable model of it without one.
//
// The includer defines before including, once per file:
//   RIDGE_VL      lanes: 4, 8 or 16
//   RIDGE_VT      target attribute of every function (empty: models, NEON)
//   RIDGE_VMAX(a, b)  (optional) the larger of two float vectors, where an instruction does it
#ifndef RIDGE_VECTOR_H
#define RIDGE_VECTOR_H

#include <string.h>

#include "ridge.h"

#if defined(__x86_64__) && !defined(RIDGE_MODEL) && RIDGE_VL > 4
#include <immintrin.h>
#define RIDGE_VECTOR_X86
#endif

// Unrolls the next loop, whose trip count is a constant of at most 16, completely.
#if defined(RIDGE_MODEL)
#define RIDGE_UNROLL_ALL
#elif defined(__clang__)
#define RIDGE_UNROLL_ALL RIDGE_PRAGMA(clang loop unroll(full))
#else
#define RIDGE_UNROLL_ALL RIDGE_PRAGMA(GCC unroll 16)
#endif

typedef float ridge_vf __attribute__((vector_size(RIDGE_VL * 4)));
typedef int32_t ridge_vi __attribute__((vector_size(RIDGE_VL * 4)));
typedef float ridge_vf_any __attribute__((vector_size(RIDGE_VL * 4), aligned(4), may_alias));
typedef int32_t ridge_vi_any __attribute__((vector_size(RIDGE_VL * 4), aligned(4), may_alias));
typedef uint32_t ridge_vu __attribute__((vector_size(RIDGE_VL * 4)));
typedef uint16_t ridge_vh_any __attribute__((vector_size(RIDGE_VL * 2), aligned(2), may_alias));
typedef int8_t ridge_vb_any __attribute__((vector_size(RIDGE_VL), aligned(1), may_alias));

// The larger; b where one of them is NaN (NEON: NaN).
RIDGE_INLINE RIDGE_VT ridge_vf ridge_vmax(ridge_vf a, ridge_vf b) {
#if defined(RIDGE_VMAX)
  return RIDGE_VMAX(a, b);
#else
  ridge_vi m = a > b;
  return (ridge_vf)(((ridge_vi)a & m) | ((ridge_vi)b & ~m));
#endif
}

// VL numbers of 16 or 8 bits as 32-bit lanes, one instruction each: from the generic conversion gcc makes two halves that it joins,
// and of bytes single elements (some fifty instructions for a vector of 512 bits).
RIDGE_INLINE RIDGE_VT ridge_vu ridge_widen_u16(const uint16_t *p) {
#if defined(RIDGE_VECTOR_X86) && RIDGE_VL == 16
  return (ridge_vu)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
#elif defined(RIDGE_VECTOR_X86) && RIDGE_VL == 8
  return (ridge_vu)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
#else
  return __builtin_convertvector(*(const ridge_vh_any *)p, ridge_vu);
#endif
}
RIDGE_INLINE RIDGE_VT ridge_vi ridge_widen_s8(const int8_t *p) {
#if defined(RIDGE_VECTOR_X86) && RIDGE_VL == 16
  return (ridge_vi)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
#elif defined(RIDGE_VECTOR_X86) && RIDGE_VL == 8
  return (ridge_vi)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
#else
  return __builtin_convertvector(*(const ridge_vb_any *)p, ridge_vi);
#endif
}

// VL bf16 values as the bits of fp32.
RIDGE_INLINE RIDGE_VT ridge_vi ridge_bf16_load(const uint16_t *p) { return (ridge_vi)(ridge_widen_u16(p) << 16); }

// Rounds to bf16, nearest even; NaN stays a quiet NaN.
RIDGE_INLINE RIDGE_VT void ridge_bf16_store(uint16_t *p, ridge_vf v) {
  ridge_vu u = (ridge_vu)v, nan = (ridge_vu)((u & 0x7fffffffu) > 0x7f800000u);
  ridge_vu r = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  r = (r & ~nan) | ((u >> 16 | 0x40) & nan);
#if defined(RIDGE_VECTOR_X86) && RIDGE_VL == 16
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16((__m512i)r));
#else
  *(ridge_vh_any *)p = __builtin_convertvector(r, ridge_vh_any);
#endif
}

// 2^x for x in [-125, 127), x outside as the nearest end: n = round(x) by adding 1.5*2^23, whose
// low bits then hold n; 2^(x-n) by a polynomial of degree 6 with value 1 at 0, fitted at
// Chebyshev nodes (relative error 0.15 u before rounding); the exponent takes n.
RIDGE_INLINE RIDGE_VT ridge_vf ridge_vexp2(ridge_vf x) {
  x = ridge_vmax(x, (ridge_vf){0} - 125.0f);
  x = -ridge_vmax(-x, (ridge_vf){0} - 126.0f);
  ridge_vf r = x + 12582912.0f;
  ridge_vf f = x - (r - 12582912.0f);
  ridge_vf p = f * 0.00015453163f + 0.0013390863f;
  p = p * f + 0.009618083f;
  p = p * f + 0.05550357f;
  p = p * f + 0.24022651f;
  p = p * f + 0.69314718f;
  p = p * f + 1.0f;
  return (ridge_vf)((ridge_vu)p + ((ridge_vu)r << 23));
}

// Transposes VL x VL 32-bit elements: log2(VL) perfect shuffles.
RIDGE_INLINE RIDGE_VT void ridge_transpose(ridge_vi r[RIDGE_VL]) {
#if RIDGE_VL == 4
#define RIDGE_ZIP_LO 0, 4, 1, 5
#define RIDGE_ZIP_HI 2, 6, 3, 7
#elif RIDGE_VL == 8
#define RIDGE_ZIP_LO 0, 8, 1, 9, 2, 10, 3, 11
#define RIDGE_ZIP_HI 4, 12, 5, 13, 6, 14, 7, 15
#else
#define RIDGE_ZIP_LO 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define RIDGE_ZIP_HI 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif
  RIDGE_UNROLL_ALL
  for (int stage = 1; stage < RIDGE_VL; stage *= 2) {
    ridge_vi t[RIDGE_VL];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < RIDGE_VL / 2; i++) {
      t[2 * i] = __builtin_shufflevector(r[i], r[i + RIDGE_VL / 2], RIDGE_ZIP_LO);
      t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + RIDGE_VL / 2], RIDGE_ZIP_HI);
    }
    RIDGE_UNROLL_ALL
    for (int i = 0; i < RIDGE_VL; i++) r[i] = t[i];
  }
}

#endif
