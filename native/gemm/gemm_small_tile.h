// The register tile of small products (template, in gemm_small.h): A by broadcast and rows of B, both where they lie.

#if GEMM_VEC == 64 && !defined(GEMM_COVE)
// s += x b, x spread from p + by (down: by is not 0) + at by the multiply-add itself. By name: gcc would hold a register for each sum of by and at.
#if defined(GEMM_MODEL) || defined(__SANITIZE_ADDRESS__)
#define GEMM_SPREAD_ADD(s, p, down, by, at, b, spread) (s) = *(const GEMM_F(one_u) *)((p) + (by) + (at)) * (b) + (s)
#else
#define GEMM_SPREAD_ADD(s_, p_, down, by_, at_, b_, spread)                                                     \
  if (down)                                                                                                     \
    __asm__ volatile(GEMM_MADD_OF("%c[at](%[p],%[by])" spread, "%[b]", "%[s]")                                  \
                     : [s] "+v"(s_) : [b] "v"(b_), [p] "r"(p_), [by] "r"(by_), [at] "i"(at_), "m"(*(const char(*)[1 << 30])(p_))); \
  else                                                                                                          \
    __asm__ volatile(GEMM_MADD_OF("%c[at](%[p])" spread, "%[b]", "%[s]")                                        \
                     : [s] "+v"(s_) : [b] "v"(b_), [p] "r"(p_), [at] "i"(at_), "m"(*(const char(*)[1 << 30])(p_)))
#endif
#endif

// s += x b of a row, x spread from p + by (down: by is not 0) + at. By name: gcc would copy x for the last multiply-add, or sums, and spill some; under
// AddressSanitizer, which does not look into these, by the compiler. With one vector the multiply-add spreads x itself but on Intel's cores: on Zen 4 those
// of 512 bits and spreading into a register share three pipes, so that 12x1 takes 16.0 cycles a k with registers and 12.0 without, 12x2 24.0 both ways.
GEMM_INLINE void GEMM_F(small_row)(GEMM_F(vec) *s, const char *p, const int down, int64_t by, const int at, const GEMM_F(vec) *bv, const int w) {
#if GEMM_VEC == 64 && !defined(GEMM_COVE)
  if (w == 1) {
    GEMM_SPREAD_ADD(s[0], p, down, by, at, bv[0], GEMM_SPREAD);
    return;
  }
#endif
#if defined(__x86_64__) && !defined(GEMM_MODEL) && !defined(__SANITIZE_ADDRESS__)
  typedef const char behind[1 << 30];
  GEMM_F(vec) x;
  if (down)
    __asm__ volatile(GEMM_BROADCAST " %c[at](%[p],%[by]), %[x]" : [x] "=v"(x) : [p] "r"(p), [by] "r"(by), [at] "i"(at), "m"(*(behind *)p));
  else
    __asm__ volatile(GEMM_BROADCAST " %c[at](%[p]), %[x]" : [x] "=v"(x) : [p] "r"(p), [at] "i"(at), "m"(*(behind *)p));
  RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) __asm__ volatile(GEMM_MADD("%[a]", "%[b]", "%[s]") : [s] "+v"(s[j]) : [b] "v"(bv[j]), [a] "v"(x));
#else
  (void)down;
  const GEMM_S x = *(const GEMM_F(one_u) *)(p + by + at);
  RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[j] = x * bv[j] + s[j];
#endif
}

// c[r x v vectors] = alpha (NULL: 1) * a[r x kc] * b[kc x v vectors], in place. `last` is the column of the last
// vector; with v = 0, part of one vector, how many columns there are. given: b is in panels packed beforehand, so many bytes apart as ldb says, and `last` is
// how many columns the last vector has.
//
// Two ways to the same sums, in the same order:
//
// GEMM_FROM_MEMORY (cores with AVX512-FP16): up to two vectors wide the multiply-adds read A, at no index: Intel's cores split a multiply-add whose
// address has one in two (Emerald Rapids, slow state: 14 x 2 vectors 0.50 of the probe with an index, 0.85 without; docs/kernels/gemm.md). So one
// pointer walks down the rows, and some steps of k go row by row, their vectors of B in registers, to move it less often. Wide tiles ask for rows of B
// that they read later, which no prefetcher follows at such pitches: 3x665x609 1.63, 8x700x700 and 16x960x512 1.3, 64x200x1000 1.07, 256^3 the same.
// Otherwise three rows share a pointer and two strides; the compiler is kept from seeing through them: it would derive a dozen
// addresses and spill them.
//
// Versions of the latter, one thread of Ice Lake, which loads 1.13 vectors of 512 bits a cycle:
//   a vector of B stays in its register (multiply-adds by name, and ridge.h): gcc loaded it once for each of two or three rows
//   loads of A and multiply-adds by name: none of 12x2's sums spilled, one pointer in place of three to four units of k
//   wide tiles ask for rows of B too, where B leaves L1
GEMM_TEMPLATE void GEMM_F(small_tile)(const int r, const int v, const int given, const GEMM_S *a, int64_t lda, const GEMM_S *b, int64_t ldb,
                                    int64_t kc, int64_t last, const GEMM_S *alpha, GEMM_S *c, int64_t ldc) {
  typedef GEMM_F(vec) V;
  enum { L = GEMM_LANES, S = sizeof(GEMM_S), G = GEMM_SMALL_GROUP };
  const int w = v ? v : 1;
  const GEMM_LANES_OF in = GEMM_F(lanes_of)(v && !given ? 0 : last);
  const char *pb = (const char *)b;
  int64_t down = (given ? GEMM_NR : ldb) * S, right = given ? ldb : last * S;
  V s[16][4];
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {
    RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[i][j] = (V){0};
  }
#define GEMM_SMALL_B(bv)                                                                             \
  RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) {                                                    \
    if (given)                                                                                       \
      bv[j] = *(const V *)(pb + (j >= GEMM_NV ? right : 0) + j % GEMM_NV * L * S);                   \
    else if (v == 0)                                                                                 \
      GEMM_F(load_lanes)(&bv[j], (const GEMM_S *)pb, in);                                            \
    else                                                                                             \
      bv[j] = *(const GEMM_F(vecu) *)(pb + (j > 0 && j == w - 1 ? right : j * L * S));               \
  }
#if defined(GEMM_FROM_MEMORY) && !defined(GEMM_MODEL)
  enum { Q = 4 };
  const int steps = v > 3 ? 1 : v > 1 ? 2 : 4; // of k that go row by row: vectors of B held
  const char *pa = (const char *)a;
  const int64_t by = lda * S, back = r * by;
#define GEMM_SMALL_STEPS(n, ask)                                                                                     \
  {                                                                                                                  \
    V bv[Q][4];                                                                                                      \
    RIDGE_UNROLL_FULL for (int q = 0; q < n; q++) {                                                                  \
      GEMM_SMALL_B(bv[q])                                                                                            \
      if (ask)                                                                                                       \
        RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) __builtin_prefetch(pb + GEMM_SMALL_AHEAD * down + 64 * j + 63); \
      pb += down;                                                                                                    \
      __asm__("" : "+r"(pb));                                                                                        \
    }                                                                                                                \
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i++) {                                                                  \
      RIDGE_UNROLL_FULL for (int q = 0; q < n; q++) {                                                                \
        V x;                                                                                                         \
        if (w > 2) __asm__(GEMM_BROADCAST " %[a], %[x]" : [x] "=v"(x) : [a] "m"(*(const GEMM_F(one_u) *)(pa + q * S))); \
        RIDGE_UNROLL_FULL for (int j = 0; j < w; j++)                                                                \
          if (w > 2)                                                                                                 \
            __asm__(GEMM_MADD("%[a]", "%[b]", "%[s]") : [s] "+v"(s[i][j]) : [b] "v"(bv[q][j]), [a] "v"(x));          \
          else                                                                                                       \
            __asm__(GEMM_MADD_OF("%[a]" GEMM_FROM_MEMORY, "%[b]", "%[s]")                                            \
                    : [s] "+v"(s[i][j])                                                                              \
                    : [b] "v"(bv[q][j]), [a] "m"(*(const GEMM_F(one_u) *)(pa + q * S)));                             \
      }                                                                                                              \
      pa += by;                                                                                                      \
      __asm__("" : "+r"(pa));                                                                                        \
    }                                                                                                                \
    pa += (n) * S - back;                                                                                            \
    __asm__("" : "+r"(pa));                                                                                          \
  }
  int64_t k = kc;
  if (v > 2 && !given)
    for (; k >= steps + GEMM_SMALL_AHEAD; k -= steps) GEMM_SMALL_STEPS(steps, 1)
  for (; k >= steps; k -= steps) GEMM_SMALL_STEPS(steps, 0)
  for (; k > 0; k--) GEMM_SMALL_STEPS(1, 0)
#undef GEMM_SMALL_STEPS
#else
  const char *p[16]; // A by groups of rows
  int64_t stride[3] = {0, lda * S, 2 * lda * S};
  __asm__("" : "+r"(stride[1]), "+r"(stride[2]), "+r"(down), "+r"(right));
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i += G) p[i / G] = (const char *)(a + i * lda);
#define GEMM_SMALL_STEP                                                                              \
  V bv[4];                                                                                           \
  GEMM_SMALL_B(bv)                                                                                   \
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++)                                                      \
    GEMM_F(small_row)(s[i], p[i / G], i % G, stride[i % G], q * S, bv, w);                           \
  pb += down;                                                                                        \
  __asm__("" : "+r"(pb))
#define GEMM_SMALL_ADVANCE(n)                                                                        \
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i += G) {                                                 \
    p[i / G] += (n) * S;                                                                             \
    __asm__("" : "+r"(p[i / G]));                                                                    \
  }
  int64_t k = kc;
#ifdef GEMM_SMALL_LOADS
  const int64_t ask = kc * down > GEMM_SMALL_NEAR ? GEMM_SMALL_AHEAD : kc; // while more k are left
#endif
  for (; k >= 4; k -= 4) {
#ifdef GEMM_SMALL_LOADS
    if (v > 2 && !given && k > ask) {
      const char *to = pb + GEMM_SMALL_AHEAD * down + 63;
      RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++, to += down)
        RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) __builtin_prefetch(to + 64 * j);
    }
#endif
    RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++) { GEMM_SMALL_STEP; }
    GEMM_SMALL_ADVANCE(4)
  }
  for (; k > 0; k--) {
    const int q = 0;
    GEMM_SMALL_STEP;
    GEMM_SMALL_ADVANCE(1)
  }
#endif
#undef GEMM_SMALL_B
#undef GEMM_SMALL_STEP
#undef GEMM_SMALL_ADVANCE
  if (alpha) { // from memory: in a register it would cost the tile of 6x2 a sum
    const V factor = (V){0} + *alpha;
    RIDGE_UNROLL_FULL for (int i = 0; i < r; i++)
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++) s[i][j] *= factor;
  }
  RIDGE_UNROLL_FULL for (int i = 0; i < r; i++, c += ldc) {
    if (v == 0)
      GEMM_F(store_lanes)(c, &s[i][0], last, in);
    else if (given) {
      RIDGE_UNROLL_FULL for (int j = 0; j < w - 1; j++) *(GEMM_F(vecu) *)(c + j * L) = s[i][j];
      if (last == L)
        *(GEMM_F(vecu) *)(c + (w - 1) * L) = s[i][w - 1];
      else
        GEMM_F(store_lanes)(c + (w - 1) * L, &s[i][w - 1], last, in);
    } else
      RIDGE_UNROLL_FULL for (int j = 0; j < w; j++)
        *(GEMM_F(vecu) *)(c + (j > 0 && j == w - 1 ? last : j * L)) = s[i][j];
  }
}
