// Exact tiles on 512-bit dot products (part of gemm_dot_tile.h): see gemm_exact.h.
//
// vpdpbusd multiplies u8 by s8. For s8 x s8 it is B that gets its top bit flipped, B + 128: the sums then
// start at -128 times the sum of A's row, which packing A knows, so that a tile may pack B as it goes.

#define GEMM_UNIT uint32_t
#define GEMM_BROADCAST "vpbroadcastd"
#if GEMM_KIND == GEMM_FP512 // gemm_chain.h has its own
#define GEMM_FLIP_B 0
#elif GEMM_FLOAT
#define GEMM_MADD(a, b, s) "vdpbf16ps " b ", " a ", " s
#define GEMM_FLIP_B 0
#elif GEMM_A_SIGNED
#define GEMM_MADD(a, b, s) "vpdpbusd " a ", " b ", " s
#define GEMM_MADD_OF GEMM_MADD
#define GEMM_EMBED "%{1to16%}" // its second factor may be in memory: A
#define GEMM_FLIP_B 1
#else
#define GEMM_MADD(a, b, s) "vpdpbusd " b ", " a ", " s
#define GEMM_FLIP_B 0
#endif
#define GEMM_A_HEAD (GEMM_FLIP_B ? 64 : 0) // bytes of row sums before a panel of A

#if GEMM_KIND != GEMM_FP512
GEMM_INLINE void GEMM_F(madd)(GEMM_F(vec) *s, uint32_t a, const GEMM_F(vec) *b) { GEMM_F(dot)(s, a, b); }
#endif

typedef uint16_t GEMM_F(h32) __attribute__((vector_size(64), may_alias));
typedef uint16_t GEMM_F(h32u) __attribute__((vector_size(64), aligned(1), may_alias));
typedef uint8_t GEMM_F(b32u) __attribute__((vector_size(32), aligned(1), may_alias));

// Columns of two rows side by side: x0 y0 x1 y1 ...
GEMM_INLINE void GEMM_F(zip)(GEMM_F(vec) *v, const GEMM_F(h32) *x, const GEMM_F(h32) *y) {
  GEMM_F(h32) lo = __builtin_shufflevector(*x, *y, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10,
                                           42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
  GEMM_F(h32) hi = __builtin_shufflevector(*x, *y, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25,
                                           57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
  v[0] = (GEMM_F(vec))lo, v[1] = (GEMM_F(vec))hi;
}

#if GEMM_KIND == GEMM_FP512
#define GEMM_UNZIPPED(x, y, lo) \
  __builtin_shufflevector(x, y, lo, lo + 32, lo + 1, lo + 33, lo + 2, lo + 34, lo + 3, lo + 35, lo + 8, lo + 40, lo + 9, lo + 41, lo + 10, lo + 42, lo + 11, lo + 43, \
                          lo + 16, lo + 48, lo + 17, lo + 49, lo + 18, lo + 50, lo + 19, lo + 51, lo + 24, lo + 56, lo + 25, lo + 57, lo + 26, lo + 58, lo + 27, lo + 59)
#endif

// The units of PK rows of B, all 32 columns present.
GEMM_INLINE void GEMM_F(fresh_row)(GEMM_F(vec) *v, const GEMM_TB *b, int64_t ld) {
#if GEMM_FLOAT
  GEMM_F(h32) x = *(const GEMM_F(h32u) *)b, y = *(const GEMM_F(h32u) *)(b + ld);
#else
  GEMM_F(h32) r[4];
  RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++)
#if defined(GEMM_MODEL)
    r[q] = __builtin_convertvector(*(const GEMM_F(b32u) *)(b + q * ld), GEMM_F(h32));
#else
    r[q] = (GEMM_F(h32))_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(b + q * ld)));
#endif
  GEMM_F(h32) x = r[0] | r[1] << 8, y = r[2] | r[3] << 8;
  if (GEMM_FLIP_B) x ^= 0x8080, y ^= 0x8080;
#endif
#if GEMM_KIND == GEMM_FP512 // in GEMM_COL's order
  v[0] = (GEMM_F(vec))GEMM_UNZIPPED(x, y, 0), v[1] = (GEMM_F(vec))GEMM_UNZIPPED(x, y, 4);
#else
  GEMM_F(zip)(v, &x, &y);
#endif
}

GEMM_INLINE void GEMM_F(beside_row)(GEMM_F(vec) *v, const GEMM_TB *b, int64_t ld) { GEMM_F(fresh_row)(v, b, ld); }

// A panel of as many rows as there are; the last unit is padded with zeros.
GEMM_NOINLINE void GEMM_F(pack_a)(void *to, const GEMM_TA *a, int64_t ld, int64_t rows, int64_t kc) {
  uint32_t *dst = (uint32_t *)((char *)to + GEMM_A_HEAD);
  const int64_t whole = kc / GEMM_PK;
  GEMM_F(turn32)(dst, a, ld * (int64_t)sizeof(GEMM_TA), rows, whole);
  if (whole * GEMM_PK < kc)
    for (int64_t i = 0; i < rows; i++) {
      uint32_t u = 0;
      memcpy(&u, a + i * ld + whole * GEMM_PK, (size_t)(kc - whole * GEMM_PK) * sizeof(GEMM_TA));
      dst[whole * rows + i] = u;
    }
#if GEMM_FLIP_B
  // Sums of a row's bytes, all rows at a time; lanes beyond the rows hold nothing of use.
  GEMM_F(vec) sum = {0};
  for (int64_t u = 0; u < (kc + GEMM_PK - 1) / GEMM_PK; u++) {
    const GEMM_F(vec) x = *(const GEMM_F(vecu) *)(dst + u * rows);
#if defined(GEMM_MODEL)
    for (int l = 0; l < GEMM_LANES; l++)
      for (int q = 0; q < 4; q++) sum[l] += (uint32_t)(int8_t)(x[l] >> 8 * q);
#else
    sum = (GEMM_F(vec))_mm512_dpbusd_epi32((__m512i)sum, _mm512_set1_epi8(1), (__m512i)x);
#endif
  }
  *(GEMM_F(vecu) *)to = sum * (uint32_t)-128;
#endif
}

#include "gemm_exact.h"
