// NCHW on AMX tiles: channels of pixels turned to pixels of channels on the way to a window, sums turned to channels of pixels on the way to y.
//
// Counted for 16 pixels and 64 bytes of channels (1 KiB): 32 widening loads of bf16 (64 of bytes), 64 shuffles and 16 stores, one shuffle a cycle: about
// 100 cycles (130), for as many pixels of all filters; for the 16 sums each of 16 channels 64 shuffles, then a load of the residual and a store a channel.
// A block of 32x32 over 64 channels and 3x3 taps takes 18 * 64 cycles of products, and its four ends 4 * 115 beside them.
#ifndef RIDGE_CONV_AMX_NCHW_H
#define RIDGE_CONV_AMX_NCHW_H

#include "conv_amx_plan.h"

#if !defined(RIDGE_MODEL)
#include <immintrin.h>
#endif

enum { SHARE = 4 / (int)sizeof(xt) }; // channels in 32 bits

// n elements (at most 16) from p on, one in each 32 bits.
RIDGE_INLINE RIDGE_VT ridge_vu load_apart(const xt *p, int64_t n) {
#if defined(RIDGE_MODEL)
  ridge_vu v = {0};
  for (int64_t i = 0; i < n; i++) v[i] = sizeof(xt) == 1 ? (uint8_t)p[i] : (uint16_t)p[i];
  return v;
#else
  const __mmask16 those = (__mmask16)((1u << n) - 1);
#if defined(CONV_INT8)
  return (ridge_vu)_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(those, p));
#else
  return (ridge_vu)_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(those, p));
#endif
#endif
}

// n pixels (at most 16) of `channels` channels (at most UNIT), which lie ld apart: each to 64 bytes of dst, zeros behind the channels.
RIDGE_INLINE RIDGE_VT void turn_pixels(const xt *src, int64_t ld, int64_t channels, int64_t n, char *dst) {
  ridge_vi r[16];
  RIDGE_UNROLL_ALL
  for (int l = 0; l < 16; l++) {
    ridge_vu v = {0};
    RIDGE_UNROLL_ALL
    for (int i = 0; i < SHARE; i++)
      if (l * SHARE + i < channels) v |= load_apart(src + (l * SHARE + i) * ld, n) << (i * (32 / SHARE));
    r[l] = (ridge_vi)v;
  }
  ridge_transpose(r);
  if (n == 16) {
    RIDGE_UNROLL_ALL
    for (int l = 0; l < 16; l++) *(line_any *)(dst + 64 * l) = r[l];
    return;
  }
  RIDGE_UNROLL_ALL
  for (int l = 0; l < 15; l++)
    if (l < n) *(line_any *)(dst + 64 * l) = r[l];
}
__attribute__((noinline)) RIDGE_VT static void turn_units(const xt *src, int64_t ld, int64_t n, char *dst) { turn_pixels(src, ld, UNIT, n, dst); }
__attribute__((noinline)) RIDGE_VT static void turn_part(const xt *src, int64_t ld, int64_t channels, int64_t n, char *dst) { turn_pixels(src, ld, channels, n, dst); }

// Columns c0 .. c1-1 of those that begin at column `from` of input row hi of image n, each unit of channels to its plane.
RIDGE_VT static void turn_columns(const plan *p, int64_t g, int64_t n, int64_t hi, int64_t from, int64_t c0, int64_t c1, char *dst) {
  const ridge_conv_args *a = p->a;
  const int64_t ld = a->H * a->W;
  const xt *src = (const xt *)a->x + ((n * a->C + g * p->cg) * a->H + hi) * a->W + from;
  for (int64_t u = 0; u < p->units; u++, dst += p->plane, src += UNIT * ld) {
    const int64_t channels = least(UNIT, p->cg - u * UNIT);
    for (int64_t c = c0; c < c1; c += 16) {
      const int64_t at = c1 - c < 16 && c1 - c0 >= 16 ? c1 - 16 : c, m = least(16, c1 - at); // the last ones again rather than fewer
      if (channels == UNIT) turn_units(src + at, ld, m, dst + at * 64);
      else turn_part(src + at, ld, channels, m, dst + at * 64);
    }
  }
}

// Filters of NCHW have a channel's taps together: 32 channels of so many taps become a row of 32 channels for each tap. Element c of row t is
// c*taps + t, so each row takes from each of the source's vectors what lies in it: taps*taps permutations, 81 cycles for 288 elements of
// 3x3 (element by element about 350).
enum { SPLIT = 32, MOST_TAPS = 25 };
typedef struct split {
  int64_t taps;
#if !defined(RIDGE_MODEL)
  __m512i at[MOST_TAPS];             // [row]
  uint32_t of[MOST_TAPS][MOST_TAPS]; // [row][vector]: which elements come from it
#endif
} split;

RIDGE_VT static void split_of(split *s, int64_t taps) {
  s->taps = taps;
#if !defined(RIDGE_MODEL)
  memset(s->of, 0, sizeof s->of);
  for (int64_t t = 0; t < taps; t++) {
    uint16_t at[SPLIT];
    for (int64_t c = 0; c < SPLIT; c++) at[c] = (uint16_t)((c * taps + t) % SPLIT), s->of[t][(c * taps + t) / SPLIT] |= 1u << c;
    s->at[t] = _mm512_loadu_si512(at);
  }
#endif
}

// Row t goes to dst + t*pitch.
RIDGE_INLINE RIDGE_VT void split_rows(const split *s, const int64_t taps, const xt *src, char *dst, int64_t pitch) {
#if defined(RIDGE_MODEL)
  (void)s;
  for (int64_t t = 0; t < taps; t++)
    for (int64_t c = 0; c < SPLIT; c++) ((xt *)(dst + t * pitch))[c] = src[c * taps + t];
#else
  __m512i v[MOST_TAPS];
  for (int64_t i = 0; i < taps; i++) {
#if defined(CONV_INT8)
    v[i] = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(src + i * SPLIT)));
#else
    v[i] = _mm512_loadu_si512(src + i * SPLIT);
#endif
  }
  for (int64_t t = 0; t < taps; t++) {
    __m512i r = _mm512_maskz_permutexvar_epi16(s->of[t][0], s->at[t], v[0]);
    for (int64_t i = 1; i < taps; i++) r = _mm512_mask_permutexvar_epi16(r, s->of[t][i], s->at[t], v[i]);
#if defined(CONV_INT8)
    _mm256_storeu_si256((__m256i *)(dst + t * pitch), _mm512_cvtepi16_epi8(r));
#else
    _mm512_storeu_si512(dst + t * pitch, r);
#endif
  }
#endif
}
__attribute__((noinline)) RIDGE_VT static void split_nine(const split *s, const xt *src, char *dst, int64_t pitch) { split_rows(s, 9, src, dst, pitch); }
__attribute__((noinline)) RIDGE_VT static void split_some(const split *s, const xt *src, char *dst, int64_t pitch) { split_rows(s, s->taps, src, dst, pitch); }

// The end of n sums (at most 16) of channel k, neighbours in y from `at` on.
RIDGE_INLINE RIDGE_VT void finish_some(const ridge_conv_args *a, mv v, int64_t k, int64_t at, int64_t n) {
#if defined(RIDGE_MODEL)
  for (int64_t i = 0; i < n; i++) finish_one(a, v[i], k, at + i);
#else
  const __mmask16 those = (__mmask16)((1u << n) - 1);
  if (a->bias) v = plus(v, one_out((const yt *)a->bias + k) - (mv){0});
#if defined(CONV_INT8)
  if (a->residual) v = plus(v, (mv)_mm512_maskz_loadu_epi32(those, (const yt *)a->residual + at));
  if (a->scale) _mm_mask_storeu_epi8((int8_t *)a->y + at, those, _mm512_cvtepi32_epi8((__m512i)requantised(v, a->scale[k] - (ridge_vf){0}, ridge_requant_low(a->act))));
  else _mm512_mask_storeu_epi32((yt *)a->y + at, those, (__m512i)v);
#else
  (void)k;
  if (a->residual) v += (mv)(load_apart((const yt *)a->residual + at, n) << 16);
  if (a->act == RIDGE_ACT_RELU) v = activate(v, RIDGE_ACT_RELU);
  else if (a->act != RIDGE_ACT_NONE) v = activate_slowly(v, a->act);
  _mm256_mask_storeu_epi16((yt *)a->y + at, those, (__m256i)_mm512_cvtneps_pbh((__m512)v));
#endif
#endif
}

// Asks for lines of y and of the residual that the strips behind this one end: a row for each channel, more rows than hardware follows. 64x56x56 3x3, batch 32, bf16,
// one thread on Emerald Rapids: with residual 15.4 -> 11.2 ms (the residual's alone 16.1 and 17.1, y's alone 14.6 to 15.6; 128 to 512 bytes ahead, to L1 or
// L2, 11.2 to 11.6), without 8.1 -> 7.4. The residual, 12.8 MB, still takes 3.8 ms.
// Two threads, of its own chain: 16 images 0.85 -> 0.99, 32 images 0.84 -> 0.94, 64 -> 256 1x1 of 32 1.32 -> 1.47; a y that L2 holds gained nothing (4 images).
RIDGE_INLINE RIDGE_VT void ask_ahead(const ridge_conv_args *a, int64_t at, int64_t channels) {
#if !defined(RIDGE_MODEL)
  enum { RESIDUAL = 256, Y = 128, LEAST = 4 << 20 }; // bytes
  const int64_t P = a->Ho * a->Wo, size = a->scale ? 1 : sizeof(yt); // requantised sums are bytes
  if (a->N * a->K * P * size <= LEAST) return;
  const char *y = (const char *)a->y + at * size + Y;
  for (int64_t c = 0; c < channels; c++, y += P * size) __asm__ volatile("prefetchw %0" ::"m"(*y));
  if (a->residual)
    for (int64_t c = 0; c < channels; c++) __builtin_prefetch((const char *)((const yt *)a->residual + at + c * P) + RESIDUAL);
#else
  (void)a, (void)at, (void)channels;
#endif
}

// The end of 16 channels from k on, `channels` of them, of the pixels of a tile: q, q + 1, ..., `high` of them, or q + map[r].
// sums: [16][NR], of which 16 columns are read.
__attribute__((noinline)) RIDGE_VT static void end_turned(const ridge_conv_args *a, const me *sums, int64_t q, const int16_t *map, int64_t high, int64_t k, int64_t channels) {
  const int64_t P = a->Ho * a->Wo;
  ridge_vi r[16];
  int64_t n = high;
  if (map) {
    n = 0;
    for (int64_t i = 0; i < high; i++) { // those that are pixels follow each other in y
      if (map[i] < 0) continue;
      if (n == 0) q += map[i];
      r[n++] = *(const ridge_vi *)(sums + i * NR);
    }
    if (n == 0) return;
    for (int64_t i = n; i < 16; i++) r[i] = (ridge_vi){0};
  } else {
    RIDGE_UNROLL_ALL
    for (int i = 0; i < 16; i++) r[i] = *(const ridge_vi *)(sums + i * NR); // rows beyond the tile's are the scratch's and are not stored
  }
  ridge_transpose(r);
  const int64_t at = (q / P * a->K + k) * P + q % P;
  ask_ahead(a, at, channels);
  if (n == 16 && channels == 16 && (a->act == RIDGE_ACT_NONE || a->act == RIDGE_ACT_RELU)) {
    RIDGE_UNROLL_ALL
    for (int c = 0; c < 16; c++) finish_pixels(a, (mv)r[c], k + c, at + c * P);
    return;
  }
  RIDGE_UNROLL_ALL
  for (int c = 0; c < 16; c++)
    if (c < channels) finish_some(a, (mv)r[c], k + c, at + c * P, n);
}

#endif
