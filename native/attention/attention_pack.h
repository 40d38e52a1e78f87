// Packing of K, V and q for the inner loops (part of attention_flash_body.h).
#ifndef RIDGE_ATTENTION_PACK_H
#define RIDGE_ATTENTION_PACK_H

#if defined(ATT_DOT)
typedef uint32_t pair __attribute__((aligned(2), may_alias));
#if !defined(ATT_AMX)
typedef uint16_t strip __attribute__((vector_size(2 * MR)));
typedef uint16_t strip_any __attribute__((vector_size(2 * MR), aligned(2), may_alias));
typedef uint16_t strips_any __attribute__((vector_size(4 * MR), aligned(4), may_alias));
#endif

// Packs n keys: vp[d/MR][j/2][MR], two keys in a unit, strips STRIP apart, a key past the last and dimensions past D as 0. K is read in place.
RIDGE_VT static void pack_block(int64_t D, int64_t dim, int64_t n, const et *k, const et *v, operand *kp, operand *vp) {
  (void)k, (void)kp;
  if (!v) return;
#if defined(ATT_AMX)
  (void)dim;
  pack_values(D, n, v, vp);
#else
  for (int64_t j = 0; j < n; j += 2) {
    const et *lo = v + j * D, *hi = lo + D;
    int64_t d = 0;
    if (j + 1 < n)
      for (; d + MR <= D; d += MR) {
        strip a = *(const strip_any *)(lo + d), b = *(const strip_any *)(hi + d);
        *(strips_any *)(vp + d / MR * STRIP + j / 2 * MR) = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
      }
    for (; d < dim; d++) {
      uint32_t x = d < D ? lo[d] : 0, y = d < D && j + 1 < n ? hi[d] : 0;
      vp[d / MR * STRIP + j / 2 * MR + d % MR] = x | y << 16;
    }
  }
#endif
}

// q[d/2][w] = pairs of a row of Q as they are (the scores are scaled), lanes past the last row 0.
RIDGE_VT static void pack_queries(int64_t D, int64_t rows, int64_t w, const et *from, float scale, operand *q) {
  (void)scale;
  for (int64_t i = 0; i < w; i += VL) {
    int64_t u = 0;
    for (int64_t at = 0; at < VL * D; at += RIDGE_CACHE_LINE / 2) __builtin_prefetch(from + (i + VL) * D + at);
    if (i + VL <= rows)
      for (; u + VL <= D / 2; u += VL) {
        vi r[VL];
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) r[l] = *(const pairs_any *)(from + (i + l) * D + 2 * u);
        ridge_transpose(r);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) *(vi_any *)(q + (u + l) * w + i) = r[l];
      }
    for (; u < UNITS(D); u++)
      for (int64_t l = i; l < i + VL; l++) {
        const et *at = from + l * D + 2 * u;
        q[u * w + l] = l >= rows ? 0 : 2 * u + 1 < D ? *(const pair *)at : *at;
      }
  }
}
#else
// Packs n keys: kp[j][D] (when widened, k not NULL), vp[d/MR][j][MR] (v not NULL), strips STRIP apart, dimensions past D as 0.
RIDGE_VT static void pack_block(int64_t D, int64_t dim, int64_t n, const et *k, const et *v, operand *kp, operand *vp) {
  if (WIDEN && k) {
    int64_t i = 0;
    for (; i + VL <= n * D; i += VL) *(vf_any *)(kp + i) = load_vector(k + i);
    for (; i < n * D; i++) kp[i] = load_one(k + i);
  }
  if (!v) return;
  for (int64_t j = 0; j < n; j++) {
    int64_t d = 0;
    for (; d + MR <= D; d += MR)
      for (int r = 0; r < MR; r++) vp[d / MR * STRIP + j * MR + r] = load_one(v + j * D + d + r);
    for (; d < dim; d++) vp[d / MR * STRIP + j * MR + d % MR] = d < D ? load_one(v + j * D + d) : 0;
  }
}

// q[d][w] = scale * rows of Q, lanes past the last row 0.
RIDGE_VT static void pack_queries(int64_t D, int64_t rows, int64_t w, const et *from, float scale, operand *q) {
  for (int64_t i = 0; i < w; i += VL) {
    int64_t d = 0;
    if (i + VL <= rows)
      for (; d + VL <= D; d += VL) {
        vi r[VL];
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) r[l] = (vi)(load_vector(from + (i + l) * D + d) * scale);
        ridge_transpose(r);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l++) *(vi_any *)(q + (d + l) * w + i) = r[l];
      }
    for (; d < D; d++)
      for (int64_t l = i; l < i + VL; l++) q[d * w + l] = l < rows ? load_one(from + l * D + d) * scale : 0;
  }
}
#endif

#endif
