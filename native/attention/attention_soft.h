// Scores and their softmax in one loop (part of attention_tile.h, on the units of attention_dot.h):
//
//   p[j/2][w] = bf16(2^(scale*(s[j][w] - m[w]))), keys j and j+1 of a unit;  s[j][w] = sum_d k[j][d] * q[d][w]
//
// The exponentials of a tile's scores stand between the dot products of the next tile, so that all but their multiply-adds run on pipes
// that the dot products leave idle. m must be known before: it is the largest score of all blocks before and of this block's first
// tile. A weight is then 2^ATT_LEAD at most, unless a later score is larger by more (weights and sums are floating point: which m they have
// leaves their errors alone); where one is, the block is done again with the maximum now known.
//
// 2^x: n = round(16 x)/16 by adding 1.5*2^19, x = n + f, |f| <= 1/32; 2^n's fraction times c0 + c1*f, relative error 2^-13.0, a
// thirtieth of what rounding to bf16 may do. c0 and c1 come from tables of 16, whose index are the sum's low bits (a permutation reads no
// more of them); the others are added to the exponent.
//
// Weights below 2^-126 are denormals, which the conversion to bf16 makes 0. NaN stays NaN: the maximum that clamps gives its second operand then,
// so its constant is no operand in memory, which would be the second, and a load besides.
//
// Per vector of scores: two multiplications, half a dot product for the total, 1.5 stores; besides, on the other pipes, 2 maxima,
// 5 additions, 2 permutations, 3 integer operations, conversion and permutation of the weights. Measured on Zen 4 beside dot
// products: these cost nothing, a store some 1.5 cycles of theirs.
#ifndef RIDGE_ATTENTION_SOFT_H
#define RIDGE_ATTENTION_SOFT_H

// Values of v up to 2^90 leave sums of such weights in range; 2^8 was outgrown by most first blocks of random inputs. The model's is small, so
// that its blocks are done again.
#if !defined(ATT_LEAD)
#define ATT_LEAD 24
#endif

// Two units of the reduction stand beside a pair of exponentials: fewer dimensions have no room for a tile's. The last tile's stand
// alone, so four tiles gain nothing.
RIDGE_INLINE int soft_takes(int64_t D, int64_t keys) { return D % 2 == 0 && D / 2 >= NV * MR && keys > 4 * MR; }

typedef struct soft_constants {
  float level[16], slope[16];
  uint16_t order[32]; // of the weights: two keys side by side
  float magic, least;
  uint32_t whole, ones;
} soft_constants;

static const soft_constants soft_constant = {
    {1.0001173f, 1.04439628f, 1.09063566f, 1.13892221f, 1.18934655f, 1.24200344f, 1.29699171f, 1.35441434f,
     1.41437948f, 1.4769994f, 1.54239178f, 1.61067927f, 1.68199015f, 1.75645816f, 1.83422327f, 1.91543126f},
    {0.693147182f, 0.723835409f, 0.755882323f, 0.789348125f, 0.824295521f, 0.860790253f, 0.898900688f, 0.938698411f,
     0.980258107f, 1.02365792f, 1.06897902f, 1.11630678f, 1.16573f, 1.21734118f, 1.27123749f, 1.32752001f},
    {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31},
    786432.0f,
    -127.0f,
    0xfffffff0,
    0x3f803f80,
};

// What a block's loop reads and writes besides, in the thread's scratch, a copy of the constants included.
typedef struct soft_work {
  soft_constants at;
  float scale, unused[11];
  float base[PANEL];        // m
  float raw[2][MR * PANEL]; // scores of the last two tiles
} soft_work;
_Static_assert(sizeof(soft_work) % RIDGE_CACHE_LINE == 0, "vectors on lines");

// soft_weight: 2^(scale*(score - base)). soft_units: two keys' weights in units. SOFT_STEP: a unit of the reduction, as ATT_STEP, and a
// weight.
#if defined(RIDGE_MODEL)
RIDGE_INLINE vf soft_weight(const soft_work *work, const float *score, const float *base) {
  const soft_constants *at = &work->at;
  const vf x = ridge_vmax((vf){0} + at->least, (*(const vf_any *)score - *(const vf_any *)base) * work->scale);
  const vf sum = x + at->magic, f = x - (sum - at->magic);
  const ridge_vu n = (ridge_vu)sum;
  vf level, slope;
  for (int l = 0; l < VL; l++) level[l] = at->level[n[l] & 15], slope[l] = at->slope[n[l] & 15];
  return (vf)((ridge_vu)(level + slope * f) + ((n & at->whole) << 19));
}
RIDGE_INLINE vi soft_units(const soft_work *work, vf even, vf odd) {
  (void)work;
  return weights(even, odd);
}
#define SOFT_STEP(nv, b, X, to, work, score, base) \
  do {                                             \
    ATT_STEP(nv, b, X);                            \
    to = soft_weight(work, score, base);           \
  } while (0)
#else
// An exponential in eight groups of instructions for the eight rows of a unit; volatile, so that they stay between the dot products where
// they are put. In one piece it holds the dot products up where the window of waiting operations is too short for it, as when
// another thread of the core has half of it.
#define SOFT_LOAD(x, from) __asm__ volatile("vmovups %1, %0" : "=v"(x) : "m"(*(const vf_any *)(from)))
#define SOFT_EACH(x, from) __asm__ volatile("vbroadcastss %1, %0" : "=v"(x) : "m"(from))
#define SOFT_ONE(op, to, a, m) __asm__ volatile(op " %2%{1to16%}, %1, %0" : "=v"(to) : "v"(a), "m"(m))
#define SOFT_TWO(op, to, a, b) __asm__ volatile(op " %2, %1, %0" : "=v"(to) : "v"(a), "v"(b))
#define SOFT_TABLE(to, i, m) __asm__ volatile("vpermd %2, %1, %0" : "=v"(to) : "v"(i), "m"(m))
#define SOFT_GROUP(g, work, score, base, x, y, t)                                                    \
  do {                                                                                               \
    const soft_constants *at_ = &(work)->at;                                                         \
    if (g == 0) {                                                                                    \
      SOFT_LOAD(x, score);                                                                           \
      __asm__ volatile("vsubps %1, %0, %0" : "+v"(x) : "m"(*(const vf_any *)(base)));                \
      SOFT_ONE("vmulps", x, x, (work)->scale);                                                       \
    } else if (g == 1) {                                                                             \
      SOFT_EACH(t, at_->least);                                                                      \
      SOFT_TWO("vmaxps", x, t, x);                                                                   \
      SOFT_ONE("vaddps", y, x, at_->magic);                                                          \
    } else if (g == 2) {                                                                             \
      SOFT_ONE("vsubps", t, y, at_->magic);                                                          \
    } else if (g == 3) {                                                                             \
      SOFT_TWO("vsubps", x, x, t);                                                                   \
      SOFT_TABLE(t, y, at_->slope);                                                                  \
    } else if (g == 4) {                                                                             \
      SOFT_TWO("vmulps", x, x, t);                                                                   \
      SOFT_TABLE(t, y, at_->level);                                                                  \
    } else if (g == 5) {                                                                             \
      SOFT_ONE("vpandd", y, y, at_->whole);                                                          \
      SOFT_TWO("vaddps", t, t, x);                                                                   \
    } else if (g == 6) {                                                                             \
      __asm__ volatile("vpslld $19, %0, %0" : "+v"(y));                                              \
    } else {                                                                                         \
      SOFT_TWO("vpaddd", t, t, y);                                                                   \
    }                                                                                                \
  } while (0)
RIDGE_INLINE RIDGE_VT vf soft_weight(const soft_work *work, const float *score, const float *base) {
  vf x = {0}, y = {0}, t = {0}; // for the compiler that does not see the groups in order
  RIDGE_UNROLL_ALL
  for (int g = 0; g < 8; g++) SOFT_GROUP(g, work, score, base, x, y, t);
  return t;
}
RIDGE_INLINE RIDGE_VT vi soft_units(const soft_work *work, vf even, vf odd) {
  vi p, order;
  __asm__ volatile("vcvtne2ps2bf16 %1, %2, %0" : "=v"(p) : "v"(even), "v"(odd));
  SOFT_LOAD(order, work->at.order);
  SOFT_TWO("vpermw", p, order, p);
  return p;
}
#define SOFT_STEP(nv, b, X, to, work, score, base)                                                                        \
  do {                                                                                                                    \
    vi bv[NV];                                                                                                            \
    vf x_ = {0}, y_ = {0}, t_ = {0};                                                                                                      \
    RIDGE_UNROLL_ALL                                                                                                      \
    for (int v = 0; v < nv && v < 2; v++) SOFT_LOAD(bv[v], (b) + v * VL);                                                 \
    RIDGE_UNROLL_ALL                                                                                                      \
    for (int r = 0; r < MR; r++) {                                                                                        \
      vi e_;                                                                                                              \
      __asm__ volatile("vpbroadcastd %1, %0" : "=v"(e_) : "m"(X));                                                        \
      RIDGE_UNROLL_ALL                                                                                                    \
      for (int v = 0; v < nv; v++) {                                                                                      \
        if (v < 2) __asm__ volatile("vdpbf16ps %2, %1, %0" : "+v"(acc[r][v]) : "v"(e_), "v"(bv[v]));                      \
        else __asm__ volatile("vdpbf16ps %2, %1, %0" : "+v"(acc[r][v]) : "v"(e_), "m"(*(const vi_any *)((b) + v * VL)));  \
      }                                                                                                                   \
      SOFT_GROUP(r, work, score, base, x_, y_, t_);                                                                       \
    }                                                                                                                     \
    to = t_;                                                                                                              \
  } while (0)
#endif

// One block of keys. before: m of the blocks before, top: the maximum so far; total, factor: as in soften.
// Returns 0, and nothing but top has changed, where a weight came above 2^ATT_LEAD: it does not when top was the block's maximum already.
RIDGE_INLINE RIDGE_VT int soft_scores_body(const int nv, int64_t D, const key *k, int64_t ld, int64_t n, const operand *q, float *s,
                                           soft_work *work, float *before, float *top, float *total, float *factor, const int32_t *seen,
                                           int64_t clear, float scale) {
  const int64_t w = nv * VL;
  operand *p = (operand *)s;
  float *m = work->base, *now = work->raw[0], *last = work->raw[1];
  work->at = soft_constant, work->scale = scale;
  for (int64_t j = 0; j < n; j += MR) {
    vf acc[MR][NV];
    const key *kr[MR];
    RIDGE_UNROLL_ALL
    for (int r = 0; r < MR; r++) kr[r] = k + (j + r < n ? j + r : n - 1) * ld;
    ATT_ZERO(nv)
    const operand *b = q;
    int64_t d = 0;
    RIDGE_UNROLL(1)
    for (int u = 0; j > 0 && u < nv; u++) {
      const float *score = last + u * VL, *base = m + u * VL;
      RIDGE_UNROLL_ALL
      for (int i = 0; i < MR; i += 2, d += 4, b += 2 * w) {
        vf even, odd;
        SOFT_STEP(nv, b, *(const unit_any *)(kr[r] + d), even, work, score + i * w, base);
        SOFT_STEP(nv, b + w, *(const unit_any *)(kr[r] + d + 2), odd, work, score + (i + 1) * w, base);
        *(vi_any *)(p + i / 2 * w + u * VL) = soft_units(work, even, odd);
      }
    }
    if (j > 0) p += MR / 2 * w;
    for (; d + 8 <= D; d += 8, b += 4 * w) {
      RIDGE_UNROLL_ALL
      for (int u = 0; u < 4; u++) ATT_STEP(nv, b + u * w, *(const unit_any *)(kr[r] + d + 2 * u));
    }
    RIDGE_UNROLL(1)
    for (; d < D; d += 2, b += w) ATT_STEP(nv, b, *(const unit_any *)(kr[r] + d));
    RIDGE_UNROLL_ALL
    for (int r = 0; r < MR; r++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) *(vf_any *)(now + (r * nv + v) * VL) = acc[r][v];
    }
    if (j + MR > clear) {
      hidden_top(nv, j, seen, now, top);
    } else {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) {
        vf most = *(const vf_any *)(top + v * VL);
        RIDGE_UNROLL_ALL
        for (int r = 0; r < MR; r++) most = ridge_vmax(acc[r][v], most);
        *(vf_any *)(top + v * VL) = most;
      }
    }
    if (j == 0)
      for (int v = 0; v < nv; v++) *(vf_any *)(m + v * VL) = *(const vf_any *)(top + v * VL);
    float *other = last;
    last = now, now = other;
  }
  vf lead = (vf){0};
  RIDGE_UNROLL(1)
  for (int v = 0; v < nv; v++) {
    const float *score = last + v * VL;
    RIDGE_UNROLL_ALL
    for (int r = 0; r < MR; r += 2) {
      const vf even = soft_weight(work, score + r * w, m + v * VL), odd = soft_weight(work, score + (r + 1) * w, m + v * VL);
      *(vi_any *)(p + r / 2 * w + v * VL) = soft_units(work, even, odd);
    }
    lead = ridge_vmax((*(const vf_any *)(top + v * VL) - *(const vf_any *)(m + v * VL)) * scale, lead); // not NaN, of infinite scores
  }
  for (int l = 0; l < VL; l++)
    if (lead[l] > ATT_LEAD) return 0;
  const vi ones = (vi){0} + (int32_t)soft_constant.ones;
  vf sums[2][NV] = {{(vf){0}}};
  const operand *at = (const operand *)s;
  int64_t j = 0;
  for (; j + 4 <= n; j += 4, at += 2 * w) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) ATT_DOT2(sums[0][v], *(const vi_any *)(at + v * VL), ones);
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) ATT_DOT2(sums[1][v], *(const vi_any *)(at + w + v * VL), ones);
  }
  RIDGE_UNROLL(1)
  for (; j < n; j += 2, at += w) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) ATT_DOT2(sums[0][v], *(const vi_any *)(at + v * VL), ones);
  }
  RIDGE_UNROLL_ALL
  for (int v = 0; v < nv; v++) {
    const vf to = *(const vf_any *)(m + v * VL), f = exp2_low(*(const vf_any *)(before + v * VL) - to, scale);
    *(vf_any *)(before + v * VL) = to;
    *(vf_any *)(factor + v * VL) = f;
    *(vf_any *)(total + v * VL) = *(const vf_any *)(total + v * VL) * f + sums[0][v] + sums[1][v];
  }
  return 1;
}

#endif
