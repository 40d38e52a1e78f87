// Few output channels, in the indirect convolution: tiles of at most CONV_FEW channels whose vectors lie along a tap's elements,
//
//   sums[i][k] = sum over taps t, vectors v of elements and lanes l of pixel[t][i][v*VL + l] * panel[t][v][k][l]
//
// A broadcast element would be multiplied by a vector of which k of VL lanes count; here all lanes do but those behind a tap's last element, which
// masks leave at 0. What is left at the end are VL partial sums of each result: pairs of vectors are added lane by neighbouring lane until each vector holds VL results,
// about two instructions for a result and level. mr pixels a tile, so that mr*k sums leave registers for the factors: always all of them, the last ones
// of a smaller tile are its last pixel again.
#ifndef RIDGE_CONV_FEW_H
#define RIDGE_CONV_FEW_H

#include "conv_tile.h"

#if defined(CONV_FEW)
enum { FEW_SUMS = 32 };
// Bytes of a slab of k channels: few pixels use a vector of the panel soon where k is large, and from L2 it comes too slowly then.
RIDGE_INLINE int64_t few_bytes(int64_t k) { return k > 5 ? 16 << 10 : 256 << 10; }
static const int8_t few_pixels[CONV_FEW] = {12, 8, 8, 6, 5, 4, 3, 3};

// Vectors of n units.
RIDGE_INLINE int64_t few_vectors(int64_t n) { return ceil_div(n, VL); }

// The first n < VL units at p, of the last one the first half if half; zeros behind them.
RIDGE_INLINE RIDGE_VT mv few_load(const char *p, int64_t n, int64_t half) {
#if defined(CONV_MASKS)
  return (mv)_mm512_maskz_loadu_epi16((__mmask32)((1ull << (2 * n - half)) - 1), p);
#else
  mv v = {0};
  memcpy(&v, p, (size_t)(n * (int64_t)sizeof(me) - half * (int64_t)sizeof(me) / 2));
  return v;
#endif
}

typedef mv elements_any __attribute__((aligned(1), may_alias)); // as me_any

// One vector of elements of all pixels times its row of the panel; of which the first `some` units count, unless that is 0.
RIDGE_INLINE RIDGE_VT void few_elements(const int mr, const int nk, const char *const p[RIDGE_WIDE], int64_t at, const me *b, int64_t some, int64_t half, mv acc[FEW_SUMS]) {
  mv held[RIDGE_WIDE > CONV_FEW ? RIDGE_WIDE : CONV_FEW];
  RIDGE_UNROLL_ALL
  for (int k = 0; k < nk && mr >= nk; k++) held[k] = *(const mv_any *)(b + k * VL);
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    mv x;
    if (some) x = few_load(p[i] + at, some, half);
    else x = *(const elements_any *)(p[i] + at);
    RIDGE_UNROLL_ALL
    for (int k = 0; k < nk && mr >= nk; k++) acc[i * nk + k] = multiply_add(acc[i * nk + k], held[k], x);
    if (mr < nk) held[i] = x;
  }
  RIDGE_UNROLL_ALL
  for (int k = 0; k < nk && mr < nk; k++) {
    const mv w = *(const mv_any *)(b + k * VL);
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) acc[i * nk + k] = multiply_add(acc[i * nk + k], w, held[i]);
  }
}

// Neighbouring lanes of n vectors added: half as many vectors.
RIDGE_INLINE RIDGE_VT void few_add(const int n, mv v[FEW_SUMS]) {
  RIDGE_UNROLL_ALL
  for (int i = 0; i < (n + 1) / 2; i++) {
    ridge_vi low = (ridge_vi)v[2 * i], high = {0};
    if (2 * i + 1 < n) high = (ridge_vi)v[2 * i + 1];
    v[i] = plus((mv)even_lanes(low, high), (mv)odd_lanes(low, high));
  }
}

// The sums of n vectors' lanes, in order, to p, where add the first `real` of them beside what is there.
RIDGE_INLINE RIDGE_VT void few_totals(const int n, mv v[FEW_SUMS], int add, int64_t real, me *p) {
  few_add(n, v), few_add((n + 1) / 2, v), few_add((n + 3) / 4, v), few_add((n + 7) / 8, v); // of 16 lanes
  RIDGE_UNROLL_ALL
  for (int i = 0; i < (n + VL - 1) / VL; i++) {
    const ridge_vi lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    if (add) v[i] = plus((mv)((ridge_vi)v[i] & (lane < (int32_t)real - i * VL)), *(const mv_any *)(p + i * VL));
    *(mv_any *)(p + i * VL) = v[i];
  }
}

// To t->sums [mr][nk], and up to a whole vector behind them.
RIDGE_INLINE RIDGE_VT void few_body(const int mr, const int nk, const tile *t) {
  mv acc[FEW_SUMS];
  RIDGE_UNROLL_ALL
  for (int k = 0; k < nk; k++) {
    mv head = {0};
    if (HEAD) head = *(const mv_any *)(t->panel + k * VL);
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) acc[i * nk + k] = head;
  }
  const me *b = t->panel + HEAD * nk * VL;
  const char *const *pixel = t->pixel;
  int64_t from = t->from * (int64_t)sizeof(me);
  const int64_t whole = (t->run - t->half) / VL, some = t->run - whole * VL;
  for (int64_t taps = t->taps; taps > 0; taps--, pixel += t->advance, from += t->pitch) {
    if (t->zero && outside(t->zero, mr, pixel)) {
      b += (whole + (some > 0)) * nk * VL;
      continue;
    }
    const char *p[RIDGE_WIDE];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      p[i] = pixel[i] + from + whole * VL * (int64_t)sizeof(me);
      __asm__("" : "+r"(p[i])); // else compilers make as many pointers of their own, which move
    }
    for (int64_t at = -whole * VL * (int64_t)sizeof(me); at < 0; at += VL * (int64_t)sizeof(me), b += nk * VL) few_elements(mr, nk, p, at, b, 0, 0, acc);
    if (some) few_elements(mr, nk, p, 0, b, some, t->half, acc), b += nk * VL;
  }
  few_totals(mr * nk, acc, t->add, t->pixels * nk, t->sums);
}

#if defined(RIDGE_MODEL)
__attribute__((noinline)) static void run_few(int64_t nk, const tile *t) { few_body(few_pixels[nk - 1], (int)nk, t); }
#else
#define FEW(mr, nk) \
  __attribute__((noinline)) RIDGE_VT static void few_##nk(const tile *t) { few_body(mr, nk, t); }
FEW(12, 1) FEW(8, 2) FEW(8, 3) FEW(6, 4) FEW(5, 5) FEW(4, 6) FEW(3, 7) FEW(3, 8)
RIDGE_INLINE void run_few(int64_t nk, const tile *t) {
  static const tile_fn table[CONV_FEW] = {few_1, few_2, few_3, few_4, few_5, few_6, few_7, few_8};
  table[nk - 1](t);
}
#endif
#endif

#endif
