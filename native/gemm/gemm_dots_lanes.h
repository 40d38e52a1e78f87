// The end of dot products (template, part of gemm_dots.h): vectors become the sums of their lanes.

// Four vectors as the sums of their lanes side by side: 6 shuffles and 3 additions within the 16-byte parts, then the parts. The last two may
// be one, of which nothing is used.
typedef GEMM_S GEMM_F(part) __attribute__((vector_size(16), may_alias));
typedef GEMM_S GEMM_F(partu) __attribute__((vector_size(16), aligned(1), may_alias));
typedef GEMM_S GEMM_F(twice) __attribute__((vector_size(32), may_alias));
#define GEMM_PICK __builtin_shufflevector
#if defined(GEMM_DOUBLE) && GEMM_VEC == 64
#define GEMM_LO(x, y) GEMM_PICK(x, y, 0, 8, 2, 10, 4, 12, 6, 14)
#define GEMM_HI(x, y) GEMM_PICK(x, y, 1, 9, 3, 11, 5, 13, 7, 15)
#define GEMM_LOW_HALF(x) GEMM_PICK(x, x, 0, 1, 2, 3)
#define GEMM_HIGH_HALF(x) GEMM_PICK(x, x, 4, 5, 6, 7)
#elif defined(GEMM_DOUBLE) && GEMM_VEC == 32
#define GEMM_LO(x, y) GEMM_PICK(x, y, 0, 4, 2, 6)
#define GEMM_HI(x, y) GEMM_PICK(x, y, 1, 5, 3, 7)
#elif defined(GEMM_DOUBLE)
#define GEMM_LO(x, y) GEMM_PICK(x, y, 0, 2)
#define GEMM_HI(x, y) GEMM_PICK(x, y, 1, 3)
#elif GEMM_VEC == 64
#define GEMM_LO(x, y) GEMM_PICK(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define GEMM_HI(x, y) GEMM_PICK(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define GEMM_LO2(x, y) GEMM_PICK(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define GEMM_HI2(x, y) GEMM_PICK(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#define GEMM_LOW_HALF(x) GEMM_PICK(x, x, 0, 1, 2, 3, 4, 5, 6, 7)
#define GEMM_HIGH_HALF(x) GEMM_PICK(x, x, 8, 9, 10, 11, 12, 13, 14, 15)
#elif GEMM_VEC == 32
#define GEMM_LO(x, y) GEMM_PICK(x, y, 0, 8, 1, 9, 4, 12, 5, 13)
#define GEMM_HI(x, y) GEMM_PICK(x, y, 2, 10, 3, 11, 6, 14, 7, 15)
#define GEMM_LO2(x, y) GEMM_PICK(x, y, 0, 1, 8, 9, 4, 5, 12, 13)
#define GEMM_HI2(x, y) GEMM_PICK(x, y, 2, 3, 10, 11, 6, 7, 14, 15)
#else
#define GEMM_LO(x, y) GEMM_PICK(x, y, 0, 4, 1, 5)
#define GEMM_HI(x, y) GEMM_PICK(x, y, 2, 6, 3, 7)
#define GEMM_LO2(x, y) GEMM_PICK(x, y, 0, 1, 4, 5)
#define GEMM_HI2(x, y) GEMM_PICK(x, y, 2, 3, 6, 7)
#endif

GEMM_INLINE void GEMM_F(dots_parts)(GEMM_F(part) *q, const GEMM_F(vec) *v) {
#if GEMM_VEC == 64
  const GEMM_F(twice) h = GEMM_LOW_HALF(*v) + GEMM_HIGH_HALF(*v);
#elif GEMM_VEC == 32
  const GEMM_F(twice) h = *v;
#endif
#if GEMM_VEC == 16
  *q = *v;
#elif defined(GEMM_DOUBLE)
  *q = GEMM_PICK(h, h, 0, 1) + GEMM_PICK(h, h, 2, 3);
#else
  *q = GEMM_PICK(h, h, 0, 1, 2, 3) + GEMM_PICK(h, h, 4, 5, 6, 7);
#endif
}

GEMM_INLINE void GEMM_F(dots_lanes)(GEMM_S *out, const GEMM_F(vec) *a, const GEMM_F(vec) *b, const GEMM_F(vec) *c, const GEMM_F(vec) *d, GEMM_S fix) {
  typedef GEMM_F(vec) V;
  GEMM_F(part) q;
  const V ab = GEMM_LO(*a, *b) + GEMM_HI(*a, *b), cd = GEMM_LO(*c, *d) + GEMM_HI(*c, *d);
#ifdef GEMM_DOUBLE
  GEMM_F(dots_parts)(&q, &ab);
  *(GEMM_F(partu) *)out = q + fix;
  GEMM_F(dots_parts)(&q, &cd);
  *(GEMM_F(partu) *)(out + 2) = q + fix;
#else
  const V abcd = GEMM_LO2(ab, cd) + GEMM_HI2(ab, cd);
  GEMM_F(dots_parts)(&q, &abcd);
  *(GEMM_F(partu) *)out = q + fix;
#endif
}
#undef GEMM_PICK
#undef GEMM_LO
#undef GEMM_HI
#undef GEMM_LO2
#undef GEMM_HI2
#undef GEMM_LOW_HALF
#undef GEMM_HIGH_HALF
