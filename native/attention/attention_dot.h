// The three inner loops on dot products of bf16 pairs (part of attention_tile.h). A unit, one 32-bit
// lane, holds two dimensions of q and K, two keys of the weights and V:
//
//   scores   s[j][w]    = sum_d k[j][d] * q[d][w]                     and top[w] = max over j
//   soften   p[j/2][w]  = bf16(2^((s[j][w] - top[w])*scale)), keys j and j+1 of a unit, and total[w]
//   gather   o[d][w]    = o[d][w] * factor[w] + sum_j v[j][d] * p[j][w]
//
// q stays bf16, so the scores are scaled, not q: by the multiply-adds that round the exponent (scale > 0 leaves the order alone; scaled
// before the maximum is subtracted, scores beyond 2^31 would differ from themselves by more than an exponent holds). K's row holds its units as they are needed; p overwrites the
// scores; V comes with its keys in pairs.
//
// The weights are rounded to bf16, half a unit in the last place, 2^-8 of each at most; total sums
// the rounded ones, so that a common error cancels: o - exact = sum_j w[j]*r[j]*(v[j] - o), |r| <= 2^-8.
// Products are exact in fp32, sums fp32; denormals count as 0, by which the weights of hidden keys become 0.
//
// Per unit and tile of 8 keys x 48 queries: 24 dot products, 3 loads, 8 broadcasts = 24 cycles at one
// a cycle. Per vector of scores besides: 5.75 cycles of the same pipes (multiply-adds and half a dot product for the
// total, the conversions' part) and 6 of the adders' (2 maxima, 2 additions, shift, conversion, permutation).
#ifndef RIDGE_ATTENTION_DOT_H
#define RIDGE_ATTENTION_DOT_H

typedef uint32_t operand; // units of packed q and V
typedef uint16_t key;     // K as the scores read it
enum { SCALED = 0 };      // scores come from q as it is
typedef uint32_t unit_any __attribute__((aligned(2), may_alias));
typedef int32_t pairs_any __attribute__((vector_size(RIDGE_VL * 4), aligned(2), may_alias));

// acc += x.lo * b.lo + x.hi * b.hi in every lane; spelled out as ATT_FMA is (attention_fma.h).
#if !defined(RIDGE_MODEL)
#define ATT_DOT2(acc, b, x) __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(b), "v"(x))
#else
#define ATT_DOT2(acc, b, x) (acc = dot2(acc, b, x))
RIDGE_INLINE vf dot2(vf acc, vi b, vi x) {
  acc += (vf)(b & (int32_t)0xffff0000) * (vf)(x & (int32_t)0xffff0000);
  return acc + (vf)(b << 16) * (vf)(x << 16);
}
#endif

// One step of a tile's reduction: acc[r][v] += X . b[v], X being row r's unit.
#define ATT_STEP(nv, b, X)                                    \
  do {                                                        \
    vi bv[NV];                                                \
    RIDGE_UNROLL_ALL                                          \
    for (int v = 0; v < nv; v++) bv[v] = *(const vi_any *)((b) + v * VL); \
    RIDGE_UNROLL_ALL                                          \
    for (int r = 0; r < MR; r++) {                            \
      vi x = (int32_t)(X) + (vi){0};                          \
      RIDGE_UNROLL_ALL                                        \
      for (int v = 0; v < nv; v++) ATT_DOT2(acc[r][v], bv[v], x); \
    }                                                         \
  } while (0)

// Takes the maximum of a tile of which some keys are hidden. Here and below the maximum so far comes second, which passes NaN over: a block
// whose weights refer to a maximum before it is known (attention_soft.h) needs one that never falls.
__attribute__((noinline)) RIDGE_VT static void hidden_top(int nv, int64_t j, const int32_t *seen, float *s, float *top) {
  hide_tile(nv, j, seen, s);
  for (int v = 0; v < nv; v++) {
    vf m = *(const vf_any *)(top + v * VL);
    for (int r = 0; r < MR; r++) m = ridge_vmax(*(const vf_any *)(s + (r * nv + v) * VL), m);
    *(vf_any *)(top + v * VL) = m;
  }
}

// Scores of n keys, ld apart, and the running maximum, neither scaled. Rows past the last key repeat
// it, which leaves the maximum alone. Lane l sees keys below seen[l]; all lanes see those below clear.
RIDGE_INLINE RIDGE_VT void scores_body(const int nv, int64_t D, const key *k, int64_t ld, int64_t n, const operand *q, float *s,
                                       float *top, const int32_t *seen, int64_t clear) {
  for (int64_t j = 0; j < n; j += MR) {
    vf acc[MR][NV];
    const key *kr[MR];
    RIDGE_UNROLL_ALL
    for (int r = 0; r < MR; r++) kr[r] = k + (j + r < n ? j + r : n - 1) * ld;
    ATT_ZERO(nv)
    const operand *b = q;
    int64_t d = 0;
    for (; d + 8 <= D; d += 8, b += 4 * nv * VL) {
      RIDGE_UNROLL_ALL
      for (int u = 0; u < 4; u++) ATT_STEP(nv, b + u * nv * VL, *(const unit_any *)(kr[r] + d + 2 * u));
    }
    RIDGE_UNROLL(1)
    for (; d + 2 <= D; d += 2, b += nv * VL) ATT_STEP(nv, b, *(const unit_any *)(kr[r] + d));
    if (d < D) ATT_STEP(nv, b, kr[r][d]);
    float *at = s + j * nv * VL;
    RIDGE_UNROLL_ALL
    for (int r = 0; r < MR; r++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) *(vf_any *)(at + (r * nv + v) * VL) = acc[r][v];
    }
    if (j + MR > clear) {
      hidden_top(nv, j, seen, at, top);
      continue;
    }
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) {
      vf m = *(const vf_any *)(top + v * VL);
      RIDGE_UNROLL_ALL
      for (int r = 0; r < MR; r++) m = ridge_vmax(acc[r][v], m);
      *(vf_any *)(top + v * VL) = m;
    }
  }
}

// 2^(-x*scale) for x >= 0 (or below by a lead, attention_amx.h), x above most = 126/scale as most, where the polynomial is less than 1: a
// denormal, which weights makes 0. NaN of NaN, which the minimum gives as its second operand, and of which bf16 has no bits that the
// exponent's could meet. Relative error 2^-13.7, a fiftieth of what rounding to bf16 may do. See exp2_low.
RIDGE_INLINE RIDGE_VT vf exp2_short(vf x, float scale, vf most) {
#if defined(RIDGE_MODEL)
  x = -ridge_vmax(-most, -x);
#else
  x = (vf)_mm512_min_ps((__m512)most, (__m512)x);
#endif
  vf r = 12582912.0f - x * scale;
  vf f = 12582912.0f - r - x * scale;
  vf p = f * 0.05517167f + 0.24261112f;
  p = p * f + 0.69326099f;
  p = p * f + 0.99992807f;
  return (vf)((ridge_vu)p + ((ridge_vu)r << 23));
}

// Two keys' weights in units, rounded to bf16, denormals as 0.
RIDGE_INLINE RIDGE_VT vi weights(vf even, vf odd) {
#if defined(RIDGE_MODEL)
  ridge_vu a = (ridge_vu)even, b = (ridge_vu)odd;
  a &= (ridge_vu)((a & 0x7f800000u) != 0), b &= (ridge_vu)((b & 0x7f800000u) != 0);
  a += 0x7fff + (a >> 16 & 1), b += 0x7fff + (b >> 16 & 1);
  return (vi)(a >> 16 | (b & 0xffff0000u));
#else
  typedef int16_t words __attribute__((vector_size(64)));
  const words order = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return (vi)_mm512_permutexvar_epi16((__m512i)order, (__m512i)_mm512_cvtne2ps_pbh((__m512)odd, (__m512)even));
#endif
}

// Weights of n keys from their scores; was is the maximum before this block, total the sum of
// weights, factor what sums so far are to be multiplied by.
RIDGE_INLINE RIDGE_VT void soften_body(const int nv, int64_t n, float *s, const float *was, const float *top, float *total,
                                       float *factor, float scale) {
  const vi ones = (vi){0} + 0x3f803f80;
  const vf most = 126.0f / scale - (vf){0};
  RIDGE_UNROLL_ALL
  for (int v = 0; v < nv; v++) {
    vf m = *(const vf_any *)(top + v * VL), sum = (vf){0};
    const vf_any *at = (const vf_any *)(s + v * VL);
    vi_any *to = (vi_any *)(s + v * VL);
    int64_t j = 0;
    RIDGE_UNROLL(2)
    for (; j + 2 <= n; j += 2, at += 2 * nv, to += nv) {
      vi p = weights(exp2_short(m - at[0], scale, most), exp2_short(m - at[nv], scale, most));
      ATT_DOT2(sum, p, ones);
      *to = p;
    }
    if (j < n) {
      vi p = weights(exp2_short(m - at[0], scale, most), (vf){0});
      ATT_DOT2(sum, p, ones);
      *to = p;
    }
    vf f = exp2_low(*(const vf_any *)(was + v * VL) - m, scale);
    *(vf_any *)(factor + v * VL) = f;
    *(vf_any *)(total + v * VL) = *(const vf_any *)(total + v * VL) * f + sum;
  }
}

#endif
