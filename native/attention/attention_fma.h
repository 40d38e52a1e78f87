// The three inner loops on multiply-adds (part of attention_tile.h).
#ifndef RIDGE_ATTENTION_FMA_H
#define RIDGE_ATTENTION_FMA_H

typedef float operand; // packed q, K and V
typedef float key;     // K as the scores read it
enum { SCALED = 1 };   // scores come from a scaled q

// acc += x * b. Spelled out on x86: left to itself gcc loads b again for each multiply-add that
// needs it, so that the loads bind, and lets the sums wander between registers and the stack.
#if defined(__x86_64__) && !defined(RIDGE_MODEL)
#define ATT_FMA(acc, b, x) __asm__("vfmadd231ps %2, %1, %0" : "+" ATT_REGISTER(acc) : ATT_REGISTER(b), ATT_REGISTER(x))
#if RIDGE_VL == 16
#define ATT_REGISTER "v"
#else
#define ATT_REGISTER "x"
#endif
#else
#define ATT_FMA(acc, b, x) acc += (b) * (x)
#endif

// One step of a tile's reduction: acc[r][v] += X * b[v], X being row r's element.
#define ATT_STEP(nv, b, X)                                   \
  do {                                                       \
    vf bv[NV];                                               \
    RIDGE_UNROLL_ALL                                         \
    for (int v = 0; v < nv; v++) bv[v] = *(const vf_any *)((b) + v * VL); \
    RIDGE_UNROLL_ALL                                         \
    for (int r = 0; r < MR; r++) {                           \
      vf x = X - (vf){0}; /* a broadcast; 0 + X would add */ \
      RIDGE_UNROLL_ALL                                       \
      for (int v = 0; v < nv; v++) ATT_FMA(acc[r][v], bv[v], x); \
    }                                                        \
  } while (0)

// Scores of n keys, ld apart, and the running maximum. Rows past the last key repeat it, which
// leaves the maximum alone. Lane l sees keys below seen[l]; all lanes see those below clear.
RIDGE_INLINE RIDGE_VT void scores_body(const int nv, int64_t D, const float *k, int64_t ld, int64_t n, const float *q, float *s,
                                       float *top, const int32_t *seen, int64_t clear) {
  for (int64_t j = 0; j < n; j += MR) {
    vf acc[MR][NV];
    const float *kr[MR];
    RIDGE_UNROLL_ALL
    for (int r = 0; r < MR; r++) kr[r] = k + (j + r < n ? j + r : n - 1) * ld;
    ATT_ZERO(nv)
    const float *b = q;
    int64_t d = 0;
    for (; d + 4 <= D; d += 4, b += 4 * nv * VL) {
      RIDGE_UNROLL_ALL
      for (int u = 0; u < 4; u++) ATT_STEP(nv, b + u * nv * VL, kr[r][d + u]);
    }
    RIDGE_UNROLL(1)
    for (; d < D; d++, b += nv * VL) ATT_STEP(nv, b, kr[r][d]);
    float *at = s + j * nv * VL;
    RIDGE_UNROLL_ALL
    for (int r = 0; r < MR; r++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) *(vf_any *)(at + (r * nv + v) * VL) = acc[r][v];
    }
    if (j + MR > clear) hide_tile(nv, j, seen, at);
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) {
      vf m = *(const vf_any *)(top + v * VL);
      RIDGE_UNROLL_ALL
      for (int r = 0; r < MR; r++) {
        m = ridge_vmax(m, *(const vf_any *)(at + (r * nv + v) * VL));
      }
      *(vf_any *)(top + v * VL) = m;
    }
  }
}

RIDGE_INLINE RIDGE_VT void soften_by(const int nv, int64_t n, float *s, const float *was, const float *top, float *total,
                                     float *factor, const float scale) {
  // One column of vectors after the other: the constants of the exponential then stay in registers.
  RIDGE_UNROLL_ALL
  for (int v = 0; v < nv; v++) {
    vf m = *(const vf_any *)(top + v * VL), sum = (vf){0};
    for (int64_t j = 0; j < n; j++) {
      vf_any *at = (vf_any *)(s + j * nv * VL + v * VL);
      vf e = exp2_low(*at - m, scale);
      sum += e;
      *at = e;
    }
    vf f = exp2_low(*(const vf_any *)(was + v * VL) - m, scale);
    *(vf_any *)(factor + v * VL) = f;
    *(vf_any *)(total + v * VL) = *(const vf_any *)(total + v * VL) * f + sum;
  }
}

// Weights of n keys from their scores, 2^(scale*(s - top)); was is the maximum before this block, total the sum of
// weights, factor what sums so far are to be multiplied by. Scores of a scaled q, which are the most, have a loop of their own.
RIDGE_INLINE RIDGE_VT void soften_body(const int nv, int64_t n, float *s, const float *was, const float *top, float *total,
                                       float *factor, float scale) {
  if (scale == 1) soften_by(nv, n, s, was, top, total, factor, 1);
  else soften_by(nv, n, s, was, top, total, factor, scale);
}

#endif
