// Register tiles of every height up to MR (template, for variants with GEMM_EXACT): the rows of a block are
// split evenly over its tiles, none is padded, and a panel of A holds as many rows as its tile.
//
// Where a vector register file is large and one 512-bit multiply-add a cycle is the limit (Zen 4),
// tiles of 4 to 14 rows run at the same rate: 14 rows for a height that 14 does not divide would waste
// up to 4 % at 256 rows and 24 % at 32.
//
// A tile may be fresh: it reads B where it lies and writes the packed panel on its way, by stores that the
// multiply-adds leave room for (2 of 28 cycles), and asks for what the next fresh tile reads. The
// other tiles of the panel read what it wrote. Packing B then has no pass of its own.
//
// Given by the includer: GEMM_UNIT (type of a unit of A), GEMM_PK (elements of K in it), GEMM_A_HEAD (bytes before a
// panel of A: what the sums of its rows start at), GEMM_MADD and GEMM_BROADCAST (the instructions),
// GEMM_F(madd)(sum, unit of A, vector of B) (the same for models) and GEMM_F(fresh_row)(vectors, B, ldb): the
// vectors of PK rows of B.

typedef struct GEMM_F(source) {
  const GEMM_TB *b; // B in memory
  int64_t ldb, ahead; // elements: pitch; from a row to the same row of what the next fresh tile reads, 0 if none
  int64_t units; // of K that are whole; a last one with rows missing is in the panel already
} GEMM_F(source);

// One row of a step: sums += unit of A . vectors of B. One piece of assembly, because gcc otherwise loads several
// units ahead or writes sums over factors, runs out of registers and spills.
GEMM_INLINE void GEMM_F(row)(GEMM_F(vec) *s, const GEMM_UNIT *a, const GEMM_F(vec) *b) {
#if defined(GEMM_MODEL)
  for (int j = 0; j < GEMM_NV; j++) GEMM_F(madd)(&s[j], *a, &b[j]);
#else
  _Static_assert(GEMM_NV == 2, "the assembly has two vectors");
  GEMM_F(vec) x;
  __asm__(GEMM_BROADCAST " %3, %2\n\t" GEMM_MADD("%2", "%4", "%0") "\n\t" GEMM_MADD("%2", "%5", "%1")
          : "+v"(s[0]), "+v"(s[1]), "=&v"(x)
          : "m"(*a), "v"(b[0]), "v"(b[1]));
#endif
}

// What is asked for ahead is the line of each 64th byte: a row that begins within a line ends in a further one, and
// its first line was the last of the panel before.
#define GEMM_EXACT_STEP(q, fresh)                                                                            \
  do {                                                                                                \
    V bv[GEMM_NV];                                                                                    \
    if (fresh) {                                                                                      \
      for (int r = 0; r < GEMM_PK; r++)                                                               \
        for (int l = 0; l < GEMM_NR * (int)sizeof(GEMM_TB); l += 64)                                  \
          __builtin_prefetch((const char *)(src + r * ldb + ahead) + l + 63, 0, 2);                   \
      GEMM_F(fresh_row)(bv, src, ldb);                                                                \
      RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) *(V *)(b + ((q) * GEMM_NV + j) * GEMM_VEC) = bv[j]; \
      src += GEMM_PK * ldb;                                                                           \
      __asm__("" : "+r"(src));                                                                        \
    } else {                                                                                          \
      RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) bv[j] = *(const V *)(b + ((q) * GEMM_NV + j) * GEMM_VEC); \
    }                                                                                                 \
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) GEMM_F(row)(s[i], a + (q) * h + i, bv);             \
  } while (0)

GEMM_INLINE void GEMM_F(tile_of)(const int h, const int fresh, int64_t kc, const void *ap, char *b, GEMM_S *c, int64_t ldc,
                                 int add, const GEMM_F(source) *from, const GEMM_F(end) *end) {
  typedef GEMM_F(vec) V;
  const GEMM_UNIT *a = ap;
  const GEMM_TB *src = fresh ? from->b : NULL;
  const int64_t ldb = fresh ? from->ldb : 0, ahead = fresh ? from->ahead : 0;
  V s[GEMM_MR][GEMM_NV];
  char *p = (char *)c;
  ldc *= (int64_t)sizeof(GEMM_S);
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, p += ldc) {
    RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) {
#if GEMM_A_HEAD
      s[i][j] = (V){0} + a[i];
#else
      s[i][j] = (V){0};
#endif
      __builtin_prefetch(p + j * GEMM_VEC, 1);
    }
    __asm__("" : "+r"(p));
  }
  a += GEMM_A_HEAD / (int)sizeof *a;
  const int64_t units = kc / GEMM_PK;
  int64_t k = fresh ? from->units : units;
  for (; k >= 4; k -= 4) {
    GEMM_EXACT_STEP(0, fresh);
    GEMM_EXACT_STEP(1, fresh);
    GEMM_EXACT_STEP(2, fresh);
    GEMM_EXACT_STEP(3, fresh);
    a += 4 * h, b += 4 * GEMM_NV * GEMM_VEC;
    __asm__("" : "+r"(a), "+r"(b));
  }
  for (; k > 0; k--) {
    GEMM_EXACT_STEP(0, fresh);
    a += h, b += GEMM_NV * GEMM_VEC;
    __asm__("" : "+r"(a), "+r"(b));
  }
  if (fresh && GEMM_PK > 1 && from->units < units) GEMM_EXACT_STEP(0, 0);
  GEMM_F(tile_end)(&s[0][0], h, GEMM_NV, c, ldc / (int64_t)sizeof(GEMM_S), add, end);
}

#if GEMM_MR != 14
#error "the heights below are those of 14 rows"
#endif
#define GEMM_EXACT_ALL(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define GEMM_EXACT_DEFINE(h)                                                                                       \
  GEMM_NOINLINE void GEMM_F(tile_##h)(int64_t kc, const void *a, char *b, GEMM_S *c, int64_t ldc, int add,         \
                                      const GEMM_F(source) *from, const GEMM_F(end) *end) {                        \
    GEMM_F(tile_of)(h, 0, kc, a, b, c, ldc, add, from, end);                                                       \
  }                                                                                                                \
  GEMM_NOINLINE void GEMM_F(fresh_##h)(int64_t kc, const void *a, char *b, GEMM_S *c, int64_t ldc, int add,        \
                                       const GEMM_F(source) *from, const GEMM_F(end) *end) {                       \
    GEMM_F(tile_of)(h, 1, kc, a, b, c, ldc, add, from, end);                                                       \
  }
#ifdef GEMM_TILE_ALONE
GEMM_EXACT_DEFINE(14)
#else
GEMM_EXACT_ALL(GEMM_EXACT_DEFINE)
typedef void (*GEMM_F(tile_fn))(int64_t, const void *, char *, GEMM_S *, int64_t, int, const GEMM_F(source) *,
                                const GEMM_F(end) *);
static const GEMM_F(tile_fn) GEMM_F(tiles)[2][GEMM_MR + 1] = {
#define GEMM_EXACT_PLAIN(h) [0][h] = GEMM_F(tile_##h),
#define GEMM_EXACT_FRESH(h) [1][h] = GEMM_F(fresh_##h),
    GEMM_EXACT_ALL(GEMM_EXACT_PLAIN) GEMM_EXACT_ALL(GEMM_EXACT_FRESH)
};
#endif
#undef GEMM_EXACT_STEP
#undef GEMM_EXACT_ALL
#undef GEMM_EXACT_DEFINE
#undef GEMM_EXACT_PLAIN
#undef GEMM_EXACT_FRESH
