// Packing helpers (template: GEMM_NAME, GEMM_TARGET).
//
// transpose32: dst[u*w + i] = unit u of row i, for 32-bit units (one float, two 16-bit or
// four 8-bit numbers); rows beyond `rows` become zero. Rows are read a cache line at a time
// and turned in 4 x 4 blocks, so that a pitch of a power of two does not evict lines before
// they are used up. transpose64 is the same for doubles.

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

GEMM_INLINE void GEMM_F(transpose32)(uint32_t *dst, const void *src, int64_t pitch, const int w, int64_t rows,
                                     int64_t units) {
  const char *s = src;
  int64_t u = 0;
  if (rows == w) {
    for (; u + 16 <= units; u += 16)
      for (int i = 0; i < w; i += 4)
        for (int q = 0; q < 16; q += 4)
          GEMM_F(block32)(dst + (u + q) * w + i, s + i * pitch + (u + q) * 4, pitch, w, w - i < 4 ? 2 : 4);
    for (; u + 4 <= units; u += 4)
      for (int i = 0; i < w; i += 4)
        GEMM_F(block32)(dst + u * w + i, s + i * pitch + u * 4, pitch, w, w - i < 4 ? 2 : 4);
  }
  for (; u < units; u++)
    for (int i = 0; i < w; i++) dst[u * w + i] = i < rows ? *(const GEMM_F(u1) *)(s + i * pitch + u * 4) : 0;
}

GEMM_INLINE void GEMM_F(transpose64)(uint64_t *dst, const void *src, int64_t pitch, const int w, int64_t rows,
                                     int64_t units) {
  typedef GEMM_F(q2) V;
  const char *s = src;
  int64_t u = 0;
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
