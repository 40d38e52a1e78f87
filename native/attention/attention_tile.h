// The three inner loops of attention in blocks, on NV vectors of queries side by side (a panel
// of w = nv*VL queries, w <= NV*VL). Everything is transposed: keys or head dimensions are
// rows, queries are lanes:
//
//   scores   s[j][w]  = sum_d k[j][d] * q[d][w]          and top[w] = max over j
//   soften   s[j][w]  = 2^(s[j][w] - top[w])             and total[w] (scores that are read are scaled here)
//   gather   o[d][w]  = o[d][w] * factor[w] + sum_j v[d/MR][j][d%MR] * s[j][w]     (packed; or v[j][d], in place)
//
// A register tile is MR rows x NV vectors: MR*NV sums, NV vectors of the right operand, and one
// element of the left at a time, broadcast. So K is read where it lies, row by row; s comes out
// of the first loop as the second one's packed operand; maximum, sum and the rescaling of o need
// no work across lanes, and the rescaling is the addend's factor of an FMA that adds the
// block's sums to o anyway. Only V wants another order, strips of MR dimensions, for in rows its
// elements are D apart, which costs nothing only as long as its block stays in L1.
//
// Per element of the reduction and tile on AVX2 (4x24): 12 FMA, 3 loads, 4 broadcasts = 6
// cycles at two FMA a cycle, all 16 registers. AVX-512 (8x48): 24 FMA, 3 loads, 8 broadcasts,
// 28 of 32 registers. NEON (4x16): 16 FMA by element, 4 loads, 4 scalars, 24 of 32 registers.
//
// With ATT_DOT the operands are pairs of bf16 numbers for a dot-product instruction (attention_dot.h; from 48 dimensions on scores and
// soften are one loop there, attention_soft.h), with ATT_AMX besides for tiles
// of the AMX unit (attention_amx.h).
//
// The includer defines RIDGE_VL, RIDGE_VT (ridge_vector.h), ATT_MR, ATT_NV and ATT_KEYS, the keys of
// a block; RIDGE_MODEL makes one instance for all widths, loops left rolled.
#ifndef RIDGE_ATTENTION_TILE_H
#define RIDGE_ATTENTION_TILE_H

#include "../include/ridge_vector.h"

enum { MR = ATT_MR, NV = ATT_NV, VL = RIDGE_VL, KEYS = ATT_KEYS, PANEL = ATT_NV * RIDGE_VL };

typedef ridge_vf vf;
typedef ridge_vi vi;
typedef ridge_vf_any vf_any;
typedef ridge_vi_any vi_any;

// The score of a hidden key, whose weight is 0, and the maximum before the first score: no finite one is less, and it is finite itself, for
// -infinity less -infinity is NaN.
#define HIDDEN -__builtin_inff()
#define BEFORE -__FLT_MAX__

// log2(e): the exponentials are powers of 2.
#define LOG2E 1.44269504088896340736

// 2^(x*scale), at most 2^126; 0 where the exponent rounds to -126 or less; NaN of NaN, which ridge_vmax gives as its second operand. n, the
// rounded exponent, comes by adding 1.5*2^23 + 126: the low bits then hold n + 126, which, shifted, is 2^(n-1), or 0 at -126. The polynomial is
// twice that of ridge_vexp2, so no product is denormal. Multiplied, not added to the exponent, where a NaN's low bits would make a number of it.
RIDGE_INLINE RIDGE_VT vf exp2_low(vf x, float scale) {
  x = ridge_vmax((vf){0} - 126.0f / scale, x);
  vf r = x * scale + 12583038.0f;
  vf f = x * scale - (r - 12583038.0f);
  vf p = f * 0.00030906326f + 0.0026781726f;
  p = p * f + 0.019236166f;
  p = p * f + 0.11100714f;
  p = p * f + 0.48045302f;
  p = p * f + 1.38629436f;
  p = p * f + 2.0f;
  return p * (vf)((ridge_vu)r << 23);
}

#define ATT_ZERO(nv)                                         \
  RIDGE_UNROLL_ALL                                           \
  for (int r = 0; r < MR; r++) {                             \
    RIDGE_UNROLL_ALL                                         \
    for (int v = 0; v < nv; v++) acc[r][v] = (vf){0};        \
  }

// Hides the keys j .. j+MR-1 from the lanes that do not see them; in memory and out of line, for
// the tile's sums fill the registers.
__attribute__((noinline)) RIDGE_VT static void hide_tile(int nv, int64_t j, const int32_t *seen, float *s) {
  for (int v = 0; v < nv; v++) {
    vi last = *(const vi_any *)(seen + v * VL);
    for (int r = 0; r < MR; r++) {
      vi hide = last <= (int32_t)(j + r), x = *(const vi_any *)(s + (r * nv + v) * VL);
      *(vi_any *)(s + (r * nv + v) * VL) = (x & ~hide) | ((vi)((vf){0} + HIDDEN) & hide);
    }
  }
}

// UNITS: the operands' units for D dimensions or n keys.
#if defined(ATT_DOT)
#define UNITS(n) (((n) + 1) / 2)
#include "attention_dot.h"
#if defined(ATT_AMX)
#include "attention_amx.h"
#else
#define ATT_SOFT
#include "attention_soft.h"
#endif
#else
#define UNITS(n) (n)
#include "attention_fma.h"
#endif

// Packed strips of V are a cache line more than the units of KEYS apart: a power of two would put the same key of all
// strips into one set of L1.
enum { STRIP = UNITS(KEYS) * MR + 16 };

// Weighted sums of n keys for dim dimensions (a multiple of MR). Units of V are step elements apart, strips of MR dimensions pitch:
// MR and STRIP where V is packed, the row and MR where it is read in place.
RIDGE_INLINE RIDGE_VT void gather_body(const int nv, int64_t dim, int64_t n, const operand *v, int64_t step, int64_t pitch,
                                       const float *s, const float *factor, float *o) {
  const int64_t units = UNITS(n);
  for (int64_t d = 0; d < dim; d += MR) {
    vf acc[MR][NV];
    ATT_ZERO(nv)
    const operand *a = v + d / MR * pitch;
    const float *b = s;
    int64_t j = 0;
    for (; j + 4 <= units; j += 4, b += 4 * nv * VL) {
      RIDGE_UNROLL_ALL
      for (int u = 0; u < 4; u++) {
        ATT_STEP(nv, b + u * nv * VL, a[r]);
        a += step;
        __asm__("" : "+r"(a)); // else an address for every row and step, on the stack
      }
    }
    RIDGE_UNROLL(1)
    for (; j < units; j++, a += step, b += nv * VL) ATT_STEP(nv, b, a[r]);
    RIDGE_UNROLL_ALL
    for (int u = 0; u < nv; u++) {
      vf f = *(const vf_any *)(factor + u * VL);
      RIDGE_UNROLL_ALL
      for (int r = 0; r < MR; r++) {
        vf_any *at = (vf_any *)(o + (d + r) * nv * VL + u * VL);
        *at = *at * f + acc[r][u];
      }
    }
  }
}

#define ATT_SCORES_ARGS int64_t D, const key *k, int64_t ld, int64_t n, const operand *q, float *s, float *top, \
                        const int32_t *seen, int64_t clear
#define ATT_SOFTEN_ARGS int64_t n, float *s, const float *was, const float *top, float *total, float *factor, float scale
#define ATT_GATHER_ARGS int64_t dim, int64_t n, const operand *v, int64_t step, int64_t pitch, const float *s, const float *factor, \
                        float *o

#define ATT_SOFT_SCORES_ARGS                                                                                                       \
  int64_t D, const key *k, int64_t ld, int64_t n, const operand *q, float *s, soft_work *work, float *before, float *top, float *total, \
      float *factor, const int32_t *seen, int64_t clear, float scale

#if defined(ATT_AMX)
// The softmax between the tiles' products is that of the dot products.
__attribute__((noinline)) RIDGE_VT static void soften_1(ATT_SOFTEN_ARGS) { soften_body(1, n, s, was, top, total, factor, scale); }
__attribute__((noinline)) RIDGE_VT static void soften_2(ATT_SOFTEN_ARGS) { soften_body(2, n, s, was, top, total, factor, scale); }
RIDGE_INLINE RIDGE_VT void soften(int nv, ATT_SOFTEN_ARGS) {
  if (nv == 1) soften_1(n, s, was, top, total, factor, scale);
  else soften_2(n, s, was, top, total, factor, scale);
  clear_weights(nv, n, s);
}
__attribute__((noinline)) RIDGE_VT static int soft_scores_1(ATT_SOFT_SCORES_ARGS) {
  return soft_scores_body(1, D, k, ld, n, q, s, work, before, top, total, factor, seen, clear, scale);
}
__attribute__((noinline)) RIDGE_VT static int soft_scores_2(ATT_SOFT_SCORES_ARGS) {
  return soft_scores_body(2, D, k, ld, n, q, s, work, before, top, total, factor, seen, clear, scale);
}
RIDGE_INLINE RIDGE_VT int soft_scores(int nv, ATT_SOFT_SCORES_ARGS) {
  return nv == 1 ? soft_scores_1(D, k, ld, n, q, s, work, before, top, total, factor, seen, clear, scale)
                 : soft_scores_2(D, k, ld, n, q, s, work, before, top, total, factor, seen, clear, scale);
}
#elif defined(RIDGE_MODEL)
// A model needs the logic, not an unrolled instance of each width.
__attribute__((noinline)) static void scores(int nv, ATT_SCORES_ARGS) { scores_body(nv, D, k, ld, n, q, s, top, seen, clear); }
__attribute__((noinline)) static void soften(int nv, ATT_SOFTEN_ARGS) { soften_body(nv, n, s, was, top, total, factor, scale); }
__attribute__((noinline)) static void gather(int nv, ATT_GATHER_ARGS) { gather_body(nv, dim, n, v, step, pitch, s, factor, o); }
#if defined(ATT_SOFT)
__attribute__((noinline)) static int soft_scores(int nv, ATT_SOFT_SCORES_ARGS) {
  return soft_scores_body(nv, D, k, ld, n, q, s, work, before, top, total, factor, seen, clear, scale);
}
#endif
#else
#define ATT_WIDTH(nv)                                                                                            \
  __attribute__((noinline)) RIDGE_VT static void scores_##nv(ATT_SCORES_ARGS) {                                  \
    scores_body(nv, D, k, ld, n, q, s, top, seen, clear);                                                        \
  }                                                                                                              \
  __attribute__((noinline)) RIDGE_VT static void soften_##nv(ATT_SOFTEN_ARGS) { soften_body(nv, n, s, was, top, total, factor, scale); } \
  __attribute__((noinline)) RIDGE_VT static void gather_##nv(ATT_GATHER_ARGS) { gather_body(nv, dim, n, v, step, pitch, s, factor, o); }
ATT_WIDTH(1)
ATT_WIDTH(2)
ATT_WIDTH(3)
#if ATT_NV == 4
ATT_WIDTH(4)
#define ATT_CALL(name, nv, ...) \
  (nv == 1 ? name##_1(__VA_ARGS__) : nv == 2 ? name##_2(__VA_ARGS__) : nv == 3 ? name##_3(__VA_ARGS__) : name##_4(__VA_ARGS__))
#else
#define ATT_CALL(name, nv, ...) (nv == 1 ? name##_1(__VA_ARGS__) : nv == 2 ? name##_2(__VA_ARGS__) : name##_3(__VA_ARGS__))
#endif
RIDGE_INLINE void scores(int nv, ATT_SCORES_ARGS) { ATT_CALL(scores, nv, D, k, ld, n, q, s, top, seen, clear); }
RIDGE_INLINE void soften(int nv, ATT_SOFTEN_ARGS) { ATT_CALL(soften, nv, n, s, was, top, total, factor, scale); }
RIDGE_INLINE void gather(int nv, ATT_GATHER_ARGS) { ATT_CALL(gather, nv, dim, n, v, step, pitch, s, factor, o); }
#if defined(ATT_SOFT)
#define ATT_SOFT_WIDTH(nv)                                                                             \
  __attribute__((noinline)) RIDGE_VT static int soft_scores_##nv(ATT_SOFT_SCORES_ARGS) {               \
    return soft_scores_body(nv, D, k, ld, n, q, s, work, before, top, total, factor, seen, clear, scale); \
  }
ATT_SOFT_WIDTH(1)
ATT_SOFT_WIDTH(2)
ATT_SOFT_WIDTH(3)
RIDGE_INLINE int soft_scores(int nv, ATT_SOFT_SCORES_ARGS) {
  return ATT_CALL(soft_scores, nv, D, k, ld, n, q, s, work, before, top, total, factor, seen, clear, scale);
}
#endif
#endif

// Vectors of the next panel when left remain: NV, but the last two panels share what a panel of
// one vector would leave (2 + 2 instead of 3 + 1), for one vector alone has too few sums.
RIDGE_INLINE int panel_vectors(int64_t left) {
  if (left <= NV) return (int)left;
  if (left < NV + 2) return (int)(left + 1) / 2;
  return NV;
}

#endif
