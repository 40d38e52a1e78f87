// Packing helpers (template: GEMM_NAME, GEMM_TARGET).
//
// transpose32: dst[u*w + i] = unit u of row i, for 32-bit units (one float, two 16-bit or
// four 8-bit numbers); rows beyond `rows` become zero. Rows are read a cache line at a time
// and turned in 4 x 4 blocks (with vectors of 512 bits, 16 rows at a time in blocks of 16 x 16: Emerald Rapids, products whose B is turned 1.01 to 1.1),
// so that a pitch of a power of two does not evict lines before they are used up. transpose64 is the same for doubles.
//
// turn32 and turn64 take any height w (all rows present) that is not known before: blocks of 8 (or 2) rows from
// the last to the first, so that what the last block writes beyond its rows is overwritten by
// the first of the next column. Beyond the panel they write at most 28 (8) bytes.

typedef uint32_t GEMM_F(u4) __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t GEMM_F(q2) __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint32_t GEMM_F(u1) __attribute__((aligned(1), may_alias));
typedef uint64_t GEMM_F(q1) __attribute__((aligned(1), may_alias));
typedef uint32_t GEMM_F(u4u) __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t GEMM_F(q2u) __attribute__((vector_size(16), aligned(1), may_alias));

// A 4 x 4 block of units: rows at s, pitch bytes apart, to dst with w units per column. With
// two rows only (w even), half of each column.
GEMM_INLINE void GEMM_F(block32)(uint32_t *dst, const char *s, int64_t pitch, const int w, const int rows) {
  typedef GEMM_F(u4) V;
  V r0 = *(const GEMM_F(u4u) *)s, r1 = *(const GEMM_F(u4u) *)(s + pitch);
  V lo = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), hi = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  if (rows == 2) {
    GEMM_F(q2) l = (GEMM_F(q2))lo, h = (GEMM_F(q2))hi;
    *(GEMM_F(q1) *)dst = l[0], *(GEMM_F(q1) *)(dst + w) = l[1];
    *(GEMM_F(q1) *)(dst + 2 * w) = h[0], *(GEMM_F(q1) *)(dst + 3 * w) = h[1];
    return;
  }
  V r2 = *(const GEMM_F(u4u) *)(s + 2 * pitch), r3 = *(const GEMM_F(u4u) *)(s + 3 * pitch);
  V lo2 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5), hi2 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  *(V *)dst = __builtin_shufflevector(lo, lo2, 0, 1, 4, 5);
  *(V *)(dst + w) = __builtin_shufflevector(lo, lo2, 2, 3, 6, 7);
  *(V *)(dst + 2 * w) = __builtin_shufflevector(hi, hi2, 0, 1, 4, 5);
  *(V *)(dst + 3 * w) = __builtin_shufflevector(hi, hi2, 2, 3, 6, 7);
}

typedef uint32_t GEMM_F(u8) __attribute__((vector_size(32), aligned(4), may_alias));

// Units of rows p and q side by side.
GEMM_INLINE void GEMM_F(two_rows)(GEMM_F(u8) *v, const char *p, const char *q) {
  const GEMM_F(u4) x = *(const GEMM_F(u4u) *)p, y = *(const GEMM_F(u4u) *)q;
  *v = __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7);
}

#if GEMM_EXACT
#ifndef GEMM_TURN_AHEAD
#define GEMM_TURN_AHEAD 256
#endif
// Asks for the rows' bytes at an offset; beyond the end of their n bytes for those of as many further rows.
GEMM_INLINE void GEMM_F(turn_ahead)(const char *s, int64_t pitch, int64_t w, int64_t at, int64_t n) {
  if (n <= GEMM_TURN_AHEAD) return;
  at += GEMM_TURN_AHEAD;
  s += at < n ? at : w * pitch + at - n;
  for (int64_t i = 0; i < w; i++) __builtin_prefetch(s + i * pitch, 0, 2);
}
#endif

#if (GEMM_EXACT || GEMM_TILES) && GEMM_VEC == 64
// Blocks of 16 x 16 units (8 x 8 of 64 bits) in registers, for 9 rows (5) or more: every line of the source is read at once, which a pitch
// of a power of two asks for (14 lines of one set in L1's 12 ways), and asked for GEMM_TURN_AHEAD bytes before; behind the panel's rows
// those of the next panel. Up to 64 bytes beyond the panel are written.
typedef uint32_t GEMM_F(u16) __attribute__((vector_size(64), may_alias));
typedef uint32_t GEMM_F(u16u) __attribute__((vector_size(64), aligned(1), may_alias));
typedef uint64_t GEMM_F(q8) __attribute__((vector_size(64), may_alias));
typedef uint64_t GEMM_F(q8u) __attribute__((vector_size(64), aligned(1), may_alias));

#define GEMM_ZIP32(a, b, lo) \
  __builtin_shufflevector(a, b, lo, lo + 16, lo + 1, lo + 17, lo + 4, lo + 20, lo + 5, lo + 21, lo + 8, lo + 24, lo + 9, lo + 25, lo + 12, lo + 28, lo + 13, lo + 29)
#define GEMM_ZIP64(a, b, lo) (GEMM_F(u16))__builtin_shufflevector((Q)(a), (Q)(b), lo, lo + 8, lo + 2, lo + 10, lo + 4, lo + 12, lo + 6, lo + 14)
#define GEMM_EVEN(a, b) (GEMM_F(u16))__builtin_shufflevector((Q)(a), (Q)(b), 0, 1, 4, 5, 8, 9, 12, 13)
#define GEMM_ODD(a, b) (GEMM_F(u16))__builtin_shufflevector((Q)(a), (Q)(b), 2, 3, 6, 7, 10, 11, 14, 15)
// Column c of rows r to t[c]; r is used up.
GEMM_INLINE void GEMM_F(turned16)(GEMM_F(u16) *t, GEMM_F(u16) *r) {
  typedef GEMM_F(u16) V;
  typedef GEMM_F(q8) Q;
  RIDGE_UNROLL_FULL for (int i = 0; i < 16; i += 2) t[i] = GEMM_ZIP32(r[i], r[i + 1], 0), t[i + 1] = GEMM_ZIP32(r[i], r[i + 1], 2);
  // Of each group of four rows, columns c, c + 4, c + 8 and c + 12 side by side.
  RIDGE_UNROLL_FULL for (int i = 0; i < 16; i += 4) {
    r[i] = GEMM_ZIP64(t[i], t[i + 2], 0), r[i + 1] = GEMM_ZIP64(t[i], t[i + 2], 1);
    r[i + 2] = GEMM_ZIP64(t[i + 1], t[i + 3], 0), r[i + 3] = GEMM_ZIP64(t[i + 1], t[i + 3], 1);
  }
  RIDGE_UNROLL_FULL for (int c = 0; c < 4; c++) {
    const V e = GEMM_EVEN(r[c], r[4 + c]), o = GEMM_ODD(r[c], r[4 + c]), e2 = GEMM_EVEN(r[8 + c], r[12 + c]), o2 = GEMM_ODD(r[8 + c], r[12 + c]);
    t[c] = GEMM_EVEN(e, e2), t[c + 4] = GEMM_EVEN(o, o2), t[c + 8] = GEMM_ODD(e, e2), t[c + 12] = GEMM_ODD(o, o2);
  }
}

GEMM_INLINE void GEMM_F(turn16)(uint32_t *dst, const char *s, int64_t pitch, const int cut, int64_t rows, int64_t w) {
  typedef GEMM_F(u16) V;
  V r[16], t[16];
  RIDGE_UNROLL_FULL for (int i = 0; i < 16; i++) {
    if (cut && i >= rows)
      r[i] = (V){0};
    else
      r[i] = *(const GEMM_F(u16u) *)s;
    if (i + 1 < rows) s += pitch;
    __asm__("" : "+r"(s)); // gcc cannot know that rows end before an array does
  }
  GEMM_F(turned16)(t, r);
  RIDGE_UNROLL_FULL for (int c = 0; c < 16; c++, dst += w) *(GEMM_F(u16u) *)dst = t[c];
}

GEMM_INLINE void GEMM_F(turn8)(uint64_t *dst, const char *s, int64_t pitch, const int cut, int64_t rows, int64_t w) {
  typedef GEMM_F(u16) V;
  typedef GEMM_F(q8) Q;
  V r[8], t[8];
  RIDGE_UNROLL_FULL for (int i = 0; i < 8; i++) {
    if (cut && i >= rows)
      r[i] = (V){0};
    else
      r[i] = (V)*(const GEMM_F(q8u) *)s;
    if (i + 1 < rows) s += pitch;
    __asm__("" : "+r"(s));
  }
  RIDGE_UNROLL_FULL for (int i = 0; i < 8; i += 2) t[i] = GEMM_ZIP64(r[i], r[i + 1], 0), t[i + 1] = GEMM_ZIP64(r[i], r[i + 1], 1);
  RIDGE_UNROLL_FULL for (int c = 0; c < 2; c++) {
    const V e = GEMM_EVEN(t[c], t[2 + c]), o = GEMM_ODD(t[c], t[2 + c]), e2 = GEMM_EVEN(t[4 + c], t[6 + c]), o2 = GEMM_ODD(t[4 + c], t[6 + c]);
    r[c] = GEMM_EVEN(e, e2), r[c + 2] = GEMM_EVEN(o, o2), r[c + 4] = GEMM_ODD(e, e2), r[c + 6] = GEMM_ODD(o, o2);
  }
  RIDGE_UNROLL_FULL for (int c = 0; c < 8; c++, dst += w) *(GEMM_F(q8u) *)dst = (Q)r[c];
}
#undef GEMM_ZIP32
#undef GEMM_ZIP64
#undef GEMM_EVEN
#undef GEMM_ODD
#define GEMM_TURNS
#endif

GEMM_INLINE void GEMM_F(transpose32)(uint32_t *dst, const void *src, int64_t pitch, const int w, int64_t rows,
                                     int64_t units) {
  const char *s = src;
  int64_t u = 0;
#ifdef GEMM_TURNS
  if (w % 16 == 0 && units >= 16) {
    for (int i = 0; i < w; i += 16)
      for (u = 0; u < units; u += 16) {
        const int64_t at = gemm_min(u, units - 16); // the last block is moved back to end with the rows
        if (i + 16 <= rows)
          GEMM_F(turn16)(dst + at * w + i, s + i * pitch + at * 4, pitch, 0, 16, w);
        else
          GEMM_F(turn16)(dst + at * w + i, s + gemm_min(i, rows - 1) * pitch + at * 4, pitch, 1, rows - i, w);
      }
    return;
  }
#endif
  if (rows == w) {
    for (; u + 16 <= units; u += 16)
      for (int i = 0; i < w; i += 4)
        for (int q = 0; q < 16; q += 4)
          GEMM_F(block32)(dst + (u + q) * w + i, s + i * pitch + (u + q) * 4, pitch, w, w - i < 4 ? 2 : 4);
    for (; u + 4 <= units; u += 4)
      for (int i = 0; i < w; i += 4)
        GEMM_F(block32)(dst + u * w + i, s + i * pitch + u * 4, pitch, w, w - i < 4 ? 2 : 4);
  }
  for (; rows < w && u + 4 <= units; u += 4) // the same, of rows some of which are missing
    for (int i = 0; i < w; i += 4) {
      GEMM_F(u4) r[4] = {{0}};
      for (int q = 0; q < 4 && i + q < rows; q++) r[q] = (GEMM_F(u4)) * (const GEMM_F(u4u) *)(s + (i + q) * pitch + u * 4);
      GEMM_F(block32)(dst + u * w + i, (const char *)r, sizeof *r, w, w - i < 4 ? 2 : 4);
    }
  for (; u < units; u++)
    for (int i = 0; i < w; i++) dst[u * w + i] = i < rows ? *(const GEMM_F(u1) *)(s + i * pitch + u * 4) : 0;
}

GEMM_INLINE void GEMM_F(transpose64)(uint64_t *dst, const void *src, int64_t pitch, const int w, int64_t rows,
                                     int64_t units) {
  typedef GEMM_F(q2) V;
  const char *s = src;
  int64_t u = 0;
#ifdef GEMM_TURNS
  if (w % 8 == 0 && units >= 8) {
    for (int i = 0; i < w; i += 8)
      for (u = 0; u < units; u += 8) {
        const int64_t at = gemm_min(u, units - 8);
        if (i + 8 <= rows)
          GEMM_F(turn8)(dst + at * w + i, s + i * pitch + at * 8, pitch, 0, 8, w);
        else
          GEMM_F(turn8)(dst + at * w + i, s + gemm_min(i, rows - 1) * pitch + at * 8, pitch, 1, rows - i, w);
      }
    return;
  }
#endif
  if (rows == w)
    for (; u + 8 <= units; u += 8)
      for (int i = 0; i < w; i += 2)
        for (int q = 0; q < 8; q += 2) {
          const char *p = s + i * pitch + (u + q) * 8;
          V r0 = *(const GEMM_F(q2u) *)p, r1 = *(const GEMM_F(q2u) *)(p + pitch);
          *(V *)(dst + (u + q) * w + i) = __builtin_shufflevector(r0, r1, 0, 2);
          *(V *)(dst + (u + q + 1) * w + i) = __builtin_shufflevector(r0, r1, 1, 3);
        }
  for (; u < units; u++)
    for (int i = 0; i < w; i++) dst[u * w + i] = i < rows ? *(const GEMM_F(q1) *)(s + i * pitch + u * 8) : 0;
}

#if GEMM_EXACT && GEMM_VEC == 32
// A block of 6 rows x 4 units: 6 loads to both halves, 8 blends, 9 shuffles and 3 stores for 24 units.
GEMM_INLINE void GEMM_F(turn6)(uint32_t *d, const char *s, int64_t pitch) {
  __m256 r[6];
  RIDGE_UNROLL_FULL for (int i = 0; i < 6; i++) r[i] = _mm256_broadcast_ps((const __m128 *)(s + i * pitch));
#define GEMM_ROWS(p, q) _mm256_blend_ps(r[p], r[q], 0xf0)
  const __m256 r04 = GEMM_ROWS(0, 4), r15 = GEMM_ROWS(1, 5), r20 = GEMM_ROWS(2, 0), r31 = GEMM_ROWS(3, 1), r42 = GEMM_ROWS(4, 2), r53 = GEMM_ROWS(5, 3);
#undef GEMM_ROWS
  // Columns 0|0, 1|1 (low) and 2|2, 3|3 (high) of rows 01|45, 23|01, 45|23.
#define GEMM_LOW(x, y) _mm256_castps_pd(_mm256_unpacklo_ps(x, y))
#define GEMM_HIGH(x, y) _mm256_castps_pd(_mm256_unpackhi_ps(x, y))
  const __m256d al = GEMM_LOW(r04, r15), ah = GEMM_HIGH(r04, r15), bl = GEMM_LOW(r20, r31), bh = GEMM_HIGH(r20, r31);
  const __m256d cl = GEMM_LOW(r42, r53), ch = GEMM_HIGH(r42, r53);
#undef GEMM_LOW
#undef GEMM_HIGH
  const __m256d bm = _mm256_blend_pd(bl, bh, 12), cm = _mm256_blend_pd(cl, ch, 12);
  _mm256_storeu_pd((double *)d, _mm256_shuffle_pd(al, bl, 8));
  _mm256_storeu_pd((double *)(d + 8), _mm256_shuffle_pd(bm, cm, 3));
  _mm256_storeu_pd((double *)(d + 16), _mm256_shuffle_pd(ch, ah, 14));
}
#endif

GEMM_INLINE void GEMM_F(turn32)(uint32_t *dst, const void *src, int64_t pitch, int64_t w, int64_t units) {
  typedef GEMM_F(u8) V;
  const char *s = src;
  int64_t u = 0;
#if GEMM_EXACT && GEMM_VEC == 64
  if (w > 8 && units >= 16) {
    for (; u < units; u += 16) {
      const int64_t at = gemm_min(u, units - 16); // the last block is moved back to end with the rows
      GEMM_F(turn_ahead)(s, pitch, w, at * 4, units * 4);
      GEMM_F(turn16)(dst + at * w, s + at * 4, pitch, 0, w, w);
    }
    return;
  }
#endif
  for (; u + 4 <= units; u += 16) {
    const int64_t end = gemm_min(16, (units - u) & ~3);
#if GEMM_EXACT && GEMM_VEC == 32
    GEMM_F(turn_ahead)(s, pitch, w, u * 4, units * 4);
    if (w == 6) {
      for (int64_t q = 0; q < end; q += 4) GEMM_F(turn6)(dst + (u + q) * 6, s + (u + q) * 4, pitch);
      continue;
    }
#endif
    for (int64_t i = (w - 1) & ~7; i >= 0; i -= 8) {
      const char *r[8];
      for (int64_t q = 0; q < 8; q++) r[q] = s + gemm_min(i + q, w - 1) * pitch + u * 4;
      uint32_t *d = dst + u * w + i;
      for (int64_t q = 0; q < end * 4; q += 16, d += 4 * w) {
        V r0, r1, r2, r3;
        GEMM_F(two_rows)(&r0, r[0] + q, r[4] + q);
        GEMM_F(two_rows)(&r1, r[1] + q, r[5] + q);
        GEMM_F(two_rows)(&r2, r[2] + q, r[6] + q);
        GEMM_F(two_rows)(&r3, r[3] + q, r[7] + q);
        V lo = __builtin_shufflevector(r0, r1, 0, 8, 1, 9, 4, 12, 5, 13);
        V hi = __builtin_shufflevector(r0, r1, 2, 10, 3, 11, 6, 14, 7, 15);
        V lo2 = __builtin_shufflevector(r2, r3, 0, 8, 1, 9, 4, 12, 5, 13);
        V hi2 = __builtin_shufflevector(r2, r3, 2, 10, 3, 11, 6, 14, 7, 15);
        *(V *)d = __builtin_shufflevector(lo, lo2, 0, 1, 8, 9, 4, 5, 12, 13);
        *(V *)(d + w) = __builtin_shufflevector(lo, lo2, 2, 3, 10, 11, 6, 7, 14, 15);
        *(V *)(d + 2 * w) = __builtin_shufflevector(hi, hi2, 0, 1, 8, 9, 4, 5, 12, 13);
        *(V *)(d + 3 * w) = __builtin_shufflevector(hi, hi2, 2, 3, 10, 11, 6, 7, 14, 15);
      }
    }
  }
  for (u = units & ~3; u < units; u++)
    for (int64_t i = 0; i < w; i++) dst[u * w + i] = *(const GEMM_F(u1) *)(s + i * pitch + u * 4);
}

GEMM_INLINE void GEMM_F(turn64)(uint64_t *dst, const void *src, int64_t pitch, int64_t w, int64_t units) {
  typedef GEMM_F(q2) V;
  const char *s = src;
  int64_t u = 0;
#if GEMM_EXACT && GEMM_VEC == 64
  if (w > 4 && units >= 8) {
    for (; u < units; u += 8) {
      const int64_t at = gemm_min(u, units - 8);
      GEMM_F(turn_ahead)(s, pitch, w, at * 8, units * 8);
      if (w > 8) GEMM_F(turn8)(dst + at * w + 8, s + 8 * pitch + at * 8, pitch, 0, w - 8, w);
      GEMM_F(turn8)(dst + at * w, s + at * 8, pitch, 0, gemm_min(8, w), w);
    }
    return;
  }
#endif
  for (; u + 2 <= units; u += 8) {
    const int64_t end = gemm_min(8, (units - u) & ~1);
#if GEMM_EXACT && GEMM_VEC == 32
    GEMM_F(turn_ahead)(s, pitch, w, u * 8, units * 8);
#endif
    for (int64_t i = (w - 1) & ~1; i >= 0; i -= 2) {
      const char *p0 = s + i * pitch + u * 8, *p1 = s + gemm_min(i + 1, w - 1) * pitch + u * 8;
      uint64_t *d = dst + u * w + i;
      for (int64_t q = 0; q < end; q += 2, d += 2 * w) {
        V r0 = *(const GEMM_F(q2u) *)(p0 + q * 8), r1 = *(const GEMM_F(q2u) *)(p1 + q * 8);
        *(V *)d = __builtin_shufflevector(r0, r1, 0, 2);
        *(V *)(d + w) = __builtin_shufflevector(r0, r1, 1, 3);
      }
    }
  }
  for (u = units & ~1; u < units; u++)
    for (int64_t i = 0; i < w; i++) dst[u * w + i] = *(const GEMM_F(q1) *)(s + i * pitch + u * 8);
}
