// Exact tiles whose multiply-adds are of fp16 (template, part of gemm_exact.h, for variants with GEMM_CHAIN): VFMADD231PH has twice the rate of the
// fp32 one, and rounds each sum to fp16. So a sum is kept in a register for a chain of at most GEMM_CHAIN products and then added up in fp32.
//
// A unit is two values of K, as in gemm_dot_exact.h: even lanes of a sum hold the products of even k, odd lanes those of odd k; the tile's
// end adds the two. Per unit 28 multiply-adds (14 cycles on two ports), 2 loads and 14 broadcasts of 32 bits, which take no such port
// (those of 16 bits do). 28 sums, two vectors of B and a unit of A leave one register.
//
// 28 sums become 56 vectors of fp32, of which registers hold none: they lie in L1 (3.5 KiB). Adding a chain to them takes 2 conversions, 2 additions
// and 2 stores a sum, 56 cycles of those ports in all. By vectors in registers it takes 98, for a conversion from a register is two
// instructions and its upper half a third; so the sums are stored, and converted as they are loaded, one for each unit of the
// next chain: behind the chain 112 stores would hold up the multiply-adds. Counted so, a chain of 64 units costs 6 %, of 128 units 3 %.
//
// Given by the includer besides what gemm_exact.h says: GEMM_CHAIN, at least 4 and a multiple of 4.

// Two sums of a row: += unit of A . vectors of B; first: = instead.
GEMM_INLINE void GEMM_F(chain_row)(GEMM_F(vec) *s, const GEMM_UNIT *a, const GEMM_F(vec) *b, const int first) {
#if defined(GEMM_MODEL)
  for (int j = 0; j < GEMM_NV; j++) {
    uint16_t x[2 * GEMM_LANES], y[2 * GEMM_LANES];
    memcpy(x, &s[j], sizeof x);
    memcpy(y, &b[j], sizeof y);
    for (int l = 0; l < 2 * GEMM_LANES; l++) { // the instruction rounds once, this twice: not the same bit where fp32 hits a tie of fp16
      const float f = ridge_fp16_to_float((uint16_t)(*a >> 16 * (l & 1))) * ridge_fp16_to_float(y[l]);
      x[l] = ridge_float_to_fp16(first ? f : f + ridge_fp16_to_float(x[l]));
    }
    memcpy(&s[j], x, sizeof x);
  }
#else
  GEMM_F(vec) x;
  if (first)
    __asm__("vpbroadcastd %3, %2\n\tvmulph %4, %2, %0\n\tvmulph %5, %2, %1"
            : "=&v"(s[0]), "=&v"(s[1]), "=&v"(x) : "m"(*a), "v"(b[0]), "v"(b[1]));
  else
    __asm__("vpbroadcastd %3, %2\n\tvfmadd231ph %4, %2, %0\n\tvfmadd231ph %5, %2, %1"
            : "+&v"(s[0]), "+&v"(s[1]), "=&v"(x) : "m"(*a), "v"(b[0]), "v"(b[1]));
#endif
}

// Half a stored sum, as fp32.
GEMM_INLINE void GEMM_F(chain_half)(GEMM_F(vec) *v, const uint16_t *sums) {
#if defined(GEMM_MODEL)
  for (int l = 0; l < GEMM_LANES; l++) (*v)[l] = ridge_fp16_to_float(sums[l]);
#else
  *v = (GEMM_F(vec))_mm512_cvtph_ps(_mm256_load_si256((const __m256i *)sums));
#endif
}

// Half a stored sum to *acc, or on top of it. A piece of assembly, because gcc would load the next ones early and spill sums.
GEMM_INLINE void GEMM_F(chain_add)(float *acc, const uint16_t *sums, const int on_top) {
  GEMM_F(vec) v;
#if defined(GEMM_MODEL)
  GEMM_F(chain_half)(&v, sums);
  if (on_top) v += *(GEMM_F(vec) *)acc;
  *(GEMM_F(vec) *)acc = v;
#else
  if (on_top)
    __asm__("vcvtph2ps %2, %0\n\tvaddps %1, %0, %0\n\tvmovaps %0, %1" : "=&v"(v), "+m"(*(GEMM_F(vec) *)acc) : "m"(*(const __m256i *)sums));
  else
    __asm__("vcvtph2ps %2, %0\n\tvmovaps %0, %1" : "=&v"(v), "=m"(*(GEMM_F(vec) *)acc) : "m"(*(const __m256i *)sums));
#endif
}

typedef struct GEMM_F(chain) { // what a tile holds in L1
  uint16_t sums[GEMM_MR * GEMM_NR * 2]; // of the chain before, row by row: fp16
  float acc[GEMM_MR * GEMM_NR * 2];     // of the chains before that
} __attribute__((aligned(64))) GEMM_F(chain);

#define GEMM_CHAIN_STEP(q, first)                                                                        \
  do {                                                                                                   \
    const V *bv = (const V *)(b + (q) * GEMM_NV * GEMM_VEC), v[2] = {bv[0], bv[1]};                      \
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) GEMM_F(chain_row)(s[i], a + (q) * h + i, v, first);    \
  } while (0)
#define GEMM_CHAIN_ON(units) a += (units) * h, b += (units) * GEMM_NV * GEMM_VEC; __asm__("" : "+r"(a), "+r"(b))
#define GEMM_CHAIN_PACK                                             \
  do {                                                              \
    GEMM_F(chain_pack)(to, src, ldb, ahead);                        \
    packs--, src += GEMM_PK * ldb, to += GEMM_NV * GEMM_VEC;        \
    __asm__("" : "+r"(to), "+r"(src));                              \
  } while (0)
// Four units; with them a row of the chain before is added up (how: 1, 2), and lines are asked for.
#define GEMM_CHAIN_FOUR(how)                                                       \
  do {                                                                             \
    GEMM_EXACT_SOON;                                                               \
    GEMM_CHAIN_STEP(0, 0);                                                         \
    if (beside && packs > 0) GEMM_CHAIN_PACK;                                      \
    if (how) GEMM_F(chain_add)(acc, sums, (how) - 1);                              \
    __builtin_prefetch(ask, 0, 2);                                                 \
    GEMM_CHAIN_STEP(1, 0);                                                         \
    if (how) GEMM_F(chain_add)(acc + GEMM_LANES, sums + GEMM_LANES, (how) - 1);    \
    GEMM_CHAIN_STEP(2, 0);                                                         \
    if (how) GEMM_F(chain_add)(acc + 2 * GEMM_LANES, sums + 2 * GEMM_LANES, (how) - 1); \
    __builtin_prefetch(ask + 64, 0, 2);                                            \
    GEMM_CHAIN_STEP(3, 0);                                                         \
    if (how) {                                                                     \
      GEMM_F(chain_add)(acc + 3 * GEMM_LANES, sums + 3 * GEMM_LANES, (how) - 1);   \
      sums += 4 * GEMM_LANES, acc += 4 * GEMM_LANES;                               \
      __asm__("" : "+r"(sums), "+r"(acc));                                         \
    }                                                                              \
    if (asks > 0) asks--, ask += 128;                                              \
    GEMM_CHAIN_ON(4);                                                              \
  } while (0)

// Packs a unit of B, and asks for what is `ahead` of it. Two unpackings put the columns of a panel in GEMM_COL's order, which the tile's
// end undoes with the permutations that it has anyway: a full interleaving is four instructions more of a multiply-add's port.
GEMM_INLINE void GEMM_F(chain_pack)(char *to, const GEMM_TB *b, int64_t ldb, int64_t ahead) {
  for (int r = 0; r < GEMM_PK; r++) __builtin_prefetch((const char *)(b + r * ldb + ahead) + 63, 0, 2);
  GEMM_F(vec) v[GEMM_NV];
  GEMM_F(fresh_row)(v, b, ldb);
  RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) GEMM_F(put)(to + j * GEMM_VEC, &v[j]);
}

GEMM_TEMPLATE void GEMM_F(tile_of)(const int h, const int fresh, const int beside, int64_t kc, const void *ap, char *b, GEMM_S *c, int64_t ldc,
                                 int add, const GEMM_F(source) *from, const GEMM_F(end) *end) {
  typedef GEMM_F(vec) V;
  GEMM_F(chain) l1;
  const GEMM_UNIT *a = ap;
  V s[GEMM_MR][GEMM_NV];
  // What is packed: all of this panel before the multiply-adds, or a part of another beside them, a unit for four.
  const GEMM_TB *src = fresh || beside ? from->b : NULL;
  const int64_t ldb = fresh || beside ? from->ldb : 0, ahead = fresh || beside ? from->ahead : 0;
  int64_t packs = fresh || beside ? from->units : 0;
  char *to = fresh ? b : beside ? from->to : NULL;
  if (fresh)
    while (packs > 0) GEMM_CHAIN_PACK;
  // Lines of packed B for later, two for four units; without, a line that is there.
  const int asking = !fresh && !beside && from && from->units > 0;
  const char *ask = asking ? (const char *)from->b : (const char *)ap;
  int64_t asks = asking ? from->units * (from->ahead ? 4 : 1) : 0;
  // Rows of C that are needed soon: gemm_exact.h.
  const int other = from && from->soon;
  const char *soon = other ? from->soon : c ? (const char *)c : (const char *)ap;
  int64_t down = other ? from->down : c ? ldc * (int64_t)sizeof(GEMM_S) : 0;
  const char *const lowest = soon + (h - 1) * down;

  // Chains of one length, but for the first, which takes what is left.
  const int64_t units = kc / GEMM_PK, chains = units > 0 ? (units + GEMM_CHAIN - 1) / GEMM_CHAIN : 1;
  const int64_t len = (units / chains + (units % chains > 0) + 3) / 4 * 4;
  int64_t n = units - (chains - 1) * len, t = 0;
  if (units == 0) memset(l1.sums, 0, sizeof l1.sums);
  else do {
    const uint16_t *sums = l1.sums;
    float *acc = l1.acc;
    int64_t fours = n < 2 ? 0 : (n - 2) / 4, rows = t == 0 ? 0 : h;
    GEMM_CHAIN_STEP(0, 1);
    GEMM_CHAIN_ON(1);
    for (int64_t one = n < 2 ? 0 : (n - 2) % 4; one > 0; one--) {
      GEMM_CHAIN_STEP(0, 0);
      GEMM_CHAIN_ON(1);
    }
    if (t == 1)
      for (; fours > 0 && rows > 0; fours--, rows--) GEMM_CHAIN_FOUR(1);
    else
      for (; fours > 0 && rows > 0; fours--, rows--) GEMM_CHAIN_FOUR(2);
    for (; rows > 0; rows--)
      for (int q = 0; q < 4; q++, sums += GEMM_LANES, acc += GEMM_LANES) {
        if (t == 1) GEMM_F(chain_add)(acc, sums, 0);
        else GEMM_F(chain_add)(acc, sums, 1);
      }
    for (; fours > 0; fours--) GEMM_CHAIN_FOUR(0);
    char *kept = (char *)l1.sums;
    if (n > 1) { // the last unit: each row's sums are stored as they are done
      const V *bv = (const V *)b, v[2] = {bv[0], bv[1]};
      RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
        GEMM_F(chain_row)(s[i], a + i, v, 0);
        ((V *)kept)[2 * i] = s[i][0], ((V *)kept)[2 * i + 1] = s[i][1];
        __asm__("" : "+r"(kept) : : "memory");
      }
      GEMM_CHAIN_ON(1);
    } else {
      RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) ((V *)kept)[2 * i] = s[i][0], ((V *)kept)[2 * i + 1] = s[i][1];
      __asm__("" : : "r"(kept) : "memory");
    }
    n = len;
  } while (++t < chains);
  if (beside)
    while (packs > 0) GEMM_CHAIN_PACK;
  V r[GEMM_MR * GEMM_NV];
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
    RIDGE_UNROLL_FULL for (int q = 0; q < 2; q++) { // columns 16q to 16q + 15: half of either sum
      V x, y;
      GEMM_F(chain_half)(&x, l1.sums + (4 * i + q) * GEMM_LANES);
      GEMM_F(chain_half)(&y, l1.sums + (4 * i + q + 2) * GEMM_LANES);
      if (chains > 1) x += ((V *)l1.acc)[4 * i + q], y += ((V *)l1.acc)[4 * i + q + 2];
      r[2 * i + q] = __builtin_shufflevector(x, y, 0, 2, 4, 6, 16, 18, 20, 22, 8, 10, 12, 14, 24, 26, 28, 30) +
                     __builtin_shufflevector(x, y, 1, 3, 5, 7, 17, 19, 21, 23, 9, 11, 13, 15, 25, 27, 29, 31);
    }
  }
  GEMM_F(tile_end)(r, h, GEMM_NV, c, ldc, add, end);
}
#undef GEMM_CHAIN_STEP
#undef GEMM_CHAIN_ON
#undef GEMM_CHAIN_PACK
#undef GEMM_CHAIN_FOUR
