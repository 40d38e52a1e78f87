// Register tiles of every height up to MR, 14 or 6 rows by two vectors or 6 by four (template, for variants with GEMM_EXACT): the rows of a block are
// split evenly over its tiles, none is padded, and a panel of A holds as many rows as its tile. Tiles of four vectors (GEMM_LYING) read A where it lies.
//
// Where a vector register file is large and one 512-bit multiply-add a cycle is the limit (Zen 4),
// tiles of 4 to 14 rows run at the same rate: 14 rows for a height that 14 does not divide would waste
// up to 4 % at 256 rows and 24 % at 32. Six rows of 256 bits waste less (0.8 % at 256, 11 % at 32) and
// win by what follows, and by the stores at a tile's end.
//
// A tile may be fresh: it reads B where it lies, copies it to the packed panel on its way and asks for what the next fresh tile reads. The
// other tiles of the panel read what it wrote. Packing B then has no pass of its own.
//
// Or a tile packs, beside its multiply-adds, a part of a panel that a later tile reads: a row of two vectors for four units of K, which it asked
// for some rows before. Where B comes packed, tiles of 14 rows, and a single tile of 6, ask for what comes
// next; several of 6 go by runs (below), which ask for nothing. On Zen 5 (two multiply-adds a cycle, 14 cycles a k) a tile
// alone reaches 0.975 to 0.99 of the probe, without asking for 28 lines of C at once up to 0.01 more: a row for four units instead (six lines are asked for at once).
//
// Zen 4, cycles beside a tile's multiply-adds (A, B and C in L1 or L2; K = 64, 256, 512): 67, 96, 150; with the sums stored row by row 30, 65, 115; with
// a panel packed beside 123, 308, 524, by way of general registers 76, 118, 197; fresh 228, 731, 1345, so 115, 205, 480.
//
// Given by the includer: GEMM_UNIT (type of a unit of A), GEMM_PK (elements of K in it), GEMM_A_HEAD (bytes before a
// panel of A: what the sums of its rows start at), GEMM_MADD and GEMM_BROADCAST (the instructions),
// GEMM_F(madd)(sum, unit of A, vector of B) (the same for models) and GEMM_F(fresh_row)(vectors, B, ldb): the
// vectors of PK rows of B; GEMM_F(beside_row), the same for tiles that pack what is not theirs.

#ifdef GEMM_CHAIN // it asks in order
#define GEMM_ASKS_PARTS 0
#else
#define GEMM_ASKS_PARTS (GEMM_MR == 14 && GEMM_NV * GEMM_VEC == 128)
#endif
typedef struct GEMM_F(source) {
  const GEMM_TB *b; // B in memory
  int64_t ldb, ahead; // elements: pitch; from a row to the same row of what the next fresh tile reads, 0 if none
  int64_t units; // of K that are whole; a last one with rows missing is in the panel already
  char *to;      // not fresh: where so many units of B, which a later tile reads, are packed beside the multiply-adds; NULL: they are asked for,
                 // with `ahead` four in the time of one, by lines of eight parts that lie ldb bytes apart, or with ldb 0 one after another
  const char *soon; // rows of C that are needed soon, `down` bytes apart, or NULL
  int64_t down;
  int64_t a_down;   // GEMM_LYING: bytes from a row of A to the next
} GEMM_F(source);

// A tile's rows of A: a packed panel, or where they lie, by three of them from a pointer, one and two strides on. The compiler is kept from seeing through
// these: it would derive more addresses and spill them.
#if GEMM_LYING
typedef GEMM_UNIT GEMM_F(unit) __attribute__((aligned(1), may_alias));
typedef struct GEMM_F(left) {
  const char *p[2];
  int64_t stride;
} GEMM_F(left);
GEMM_INLINE GEMM_F(left) GEMM_F(left_at)(const int h, const void *a, int64_t down) {
  GEMM_F(left) l = {{a, (const char *)a + (h > 3 ? 3 * down : 0)}, down};
  __asm__("" : "+r"(l.p[0]), "+r"(l.p[1]), "+r"(l.stride));
  return l;
}
GEMM_INLINE void GEMM_F(left_on)(const int h, GEMM_F(left) *l, int n) {
  l->p[0] += n * sizeof(GEMM_UNIT);
  __asm__("" : "+r"(l->p[0]));
  if (h <= 3) return;
  l->p[1] += n * sizeof(GEMM_UNIT);
  __asm__("" : "+r"(l->p[1]));
}
// Row i, q units on. (left_on keeps pointers of further rows from being derived, by 0 units too.)
#define GEMM_EXACT_A(h, l, i, q) ((const GEMM_F(unit) *)((l).p[(i) / 3] + (i) % 3 * (l).stride + (q) * sizeof(GEMM_UNIT)))
#else
typedef GEMM_UNIT GEMM_F(unit);
typedef struct GEMM_F(left) {
  const GEMM_UNIT *p;
} GEMM_F(left);
GEMM_INLINE GEMM_F(left) GEMM_F(left_at)(const int h, const void *a, int64_t down) {
  (void)h, (void)down;
  const GEMM_F(left) l = {a};
  return l;
}
GEMM_INLINE void GEMM_F(left_on)(const int h, GEMM_F(left) *l, int n) {
  l->p += n * h;
  __asm__("" : "+r"(l->p));
}
#define GEMM_EXACT_A(h, l, i, q) ((l).p + (q) * (h) + (i))
#endif

// Tiles of so many rows have room beside their multiply-adds.
#define GEMM_BESIDE_ROWS (GEMM_MR == 14 ? 10 : 4)

// One vector of a packed panel that no tile reads soon. By another instruction than a tile's own loads and stores, which loop_test.go counts.
GEMM_INLINE void GEMM_F(put)(char *to, const GEMM_F(vec) *v) {
#if defined(GEMM_MODEL)
  *(GEMM_F(vec) *)to = *v;
#else
#if GEMM_VEC == 64
  __asm__("vmovdqa32 %1, %0" : "=m"(*(GEMM_F(vec) *)to) : "v"(*v));
#else
  __asm__("vmovdqa %1, %0" : "=m"(*(GEMM_F(vec) *)to) : "x"(*v));
#endif
#endif
}

#ifndef GEMM_CHAIN
// One row of a step: sums += unit of A . vectors of B. One piece of assembly, because gcc otherwise loads several
// units ahead or writes sums over factors, runs out of registers and spills.
// Where a core does two loads a cycle beside its multiply-adds (GEMM_FROM_MEMORY) both take the unit from memory, spread by the load: two instructions for
// three, which count where another thread takes some of the core's (docs/kernels/gemm.md, Emerald Rapids).
GEMM_INLINE void GEMM_F(row)(GEMM_F(vec) *s, const GEMM_F(unit) *a, const GEMM_F(vec) *b) {
#if defined(GEMM_MODEL)
  for (int j = 0; j < GEMM_NV; j++) GEMM_F(madd)(&s[j], *a, &b[j]);
#elif GEMM_NV == 4
  GEMM_F(vec) x;
  __asm__(GEMM_BROADCAST " %5, %4\n\t" GEMM_MADD("%4", "%6", "%0") "\n\t" GEMM_MADD("%4", "%7", "%1") "\n\t" GEMM_MADD("%4", "%8", "%2") "\n\t" GEMM_MADD("%4", "%9", "%3")
          : "+&v"(s[0]), "+&v"(s[1]), "+&v"(s[2]), "+&v"(s[3]), "=&v"(x)
          : "m"(*a), "v"(b[0]), "v"(b[1]), "v"(b[2]), "v"(b[3]));
#elif defined(GEMM_FROM_MEMORY)
  __asm__(GEMM_MADD_OF("%2" GEMM_FROM_MEMORY, "%3", "%0") "\n\t" GEMM_MADD_OF("%2" GEMM_FROM_MEMORY, "%4", "%1")
          : "+&v"(s[0]), "+&v"(s[1])
          : "m"(*a), "v"(b[0]), "v"(b[1]));
#else
  _Static_assert(GEMM_NV == 2, "the assembly has two vectors or four");
  GEMM_F(vec) x;
  __asm__(GEMM_BROADCAST " %3, %2\n\t" GEMM_MADD("%2", "%4", "%0") "\n\t" GEMM_MADD("%2", "%5", "%1")
          : "+&v"(s[0]), "+&v"(s[1]), "=&v"(x)
          : "m"(*a), "v"(b[0]), "v"(b[1]));
#endif
}

#if GEMM_MR == 14
#define GEMM_LAST 2 // steps of a tile that go row by row
// The last two steps of a row: sums += units of A . vectors of B, of which the fourth, far, lies in memory: 28 sums, a unit of A and three
// vectors of B are all the registers. Where a multiply-add takes only A from memory (GEMM_EMBED), it takes all of it from there.
GEMM_INLINE void GEMM_F(last_row)(GEMM_F(vec) *s, const GEMM_UNIT *a, const GEMM_UNIT *next, const GEMM_F(vec) *b, const GEMM_F(vec) *far) {
#if defined(GEMM_MODEL)
  for (int j = 0; j < GEMM_NV; j++) GEMM_F(madd)(&s[j], *a, &b[j]);
  GEMM_F(madd)(&s[0], *next, &b[2]);
  GEMM_F(madd)(&s[1], *next, far);
#elif defined(GEMM_EMBED)
  __asm__(GEMM_MADD("%2" GEMM_EMBED, "%4", "%0") "\n\t" GEMM_MADD("%2" GEMM_EMBED, "%5", "%1") "\n\t"
          GEMM_MADD("%3" GEMM_EMBED, "%6", "%0") "\n\t" GEMM_MADD("%3" GEMM_EMBED, "%7", "%1")
          : "+&v"(s[0]), "+&v"(s[1])
          : "m"(*a), "m"(*next), "v"(b[0]), "v"(b[1]), "v"(b[2]), "v"(*far));
#else
  GEMM_F(vec) x;
  __asm__(GEMM_BROADCAST " %3, %2\n\t" GEMM_MADD("%2", "%5", "%0") "\n\t" GEMM_MADD("%2", "%6", "%1") "\n\t"
          GEMM_BROADCAST " %4, %2\n\t" GEMM_MADD("%2", "%7", "%0") "\n\t" GEMM_MADD("%2", "%8", "%1")
          : "+&v"(s[0]), "+&v"(s[1]), "=&v"(x)
          : "m"(*a), "m"(*next), "v"(b[0]), "v"(b[1]), "v"(b[2]), "m"(*far));
#endif
}

// The last steps of a tile whose sums go to c as they are: row by row, each to c before the next one. Behind the tile 28 stores of 512 bits at
// once hold up the next tile's multiply-adds by 48 cycles on Zen 4, one for every two multiply-adds by none (both measured alone).
GEMM_INLINE void GEMM_F(last_rows)(const int h, const int add, GEMM_F(vec) (*s)[GEMM_NV], const GEMM_F(left) *left, const GEMM_F(vec) *b, GEMM_S *c, int64_t ldc) {
  typedef GEMM_F(vecu) VU;
  const GEMM_UNIT *a = left->p;
  const GEMM_F(vec) bv[3] = {b[0], b[1], b[2]};
  char *p = (char *)c;
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, p += ldc * (int64_t)sizeof(GEMM_S)) {
    GEMM_F(last_row)(s[i], a + i, a + h + i, bv, b + 3);
    if (add) s[i][0] += *(const VU *)p, s[i][1] += *(const VU *)(p + GEMM_VEC);
    *(VU *)p = s[i][0], *(VU *)(p + GEMM_VEC) = s[i][1];
    __asm__("" : "+r"(p));
  }
}

#else
#define GEMM_LAST 3 // steps of a tile that go by two rows
// The last steps of a tile whose sums go to c as they are: by two rows over three steps, both to c before the next two. On Zen 3 a vector store beside
// multiply-adds takes their place unless it is spread among them: 12 of 256 bits behind a tile cost 19 to 25 cycles, those of 128 bits as much, 12
// of general registers one. Cycles for eight steps of 6 rows (48 of multiply-adds), all in L1, the stores
//
//   behind the tile                                                                        67 to 73
//   row by row over the last 1, 2, 3, 4, 5 steps, two after 2, 4, 6, 8, 10 multiply-adds   69, 55, 52, 50, 54
//   by two rows over the last 2, 3, 4 steps, four after 8, 12, 16                          54, 48.4, 51
//
// (Row by row each row loads B for itself, which binds beyond 4 steps.)
GEMM_INLINE void GEMM_F(last_rows)(const int h, const int add, GEMM_F(vec) (*s)[GEMM_NV], const GEMM_F(left) *a, const GEMM_F(vec) *b, GEMM_S *c, int64_t ldc) {
  typedef GEMM_F(vecu) VU;
  GEMM_F(left) l = *a;
  char *p = (char *)c;
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i += 2) {
    const int end = i + 2 < h ? i + 2 : h;
    RIDGE_UNROLL_FULL for (int k = 0; k < GEMM_LAST; k++) {
      __asm__ volatile("" : "+r"(b)); // gcc would load all of B for both ways to c at once, and spill it
      GEMM_F(vec) bv[GEMM_NV];
      RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) bv[j] = b[GEMM_NV * k + j];
      RIDGE_UNROLL_FULL for (int r = i; r < end; r++) GEMM_F(row)(s[r], GEMM_EXACT_A(h, l, r, k), bv);
    }
    RIDGE_UNROLL_FULL for (int r = i; r < end; r++, p += ldc * (int64_t)sizeof(GEMM_S)) {
      RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) {
        if (add) s[r][j] += *(const VU *)(p + j * GEMM_VEC);
        *(VU *)(p + j * GEMM_VEC) = s[r][j];
      }
      __asm__("" : "+r"(p));
    }
    GEMM_F(left_on)(h, &l, 0);
  }
}
#endif

// A unit's vectors of B by way of general registers: on Zen 4 a store of a vector that was just loaded takes a multiply-add's place (two of 512 bits
// 2 to 3 cycles of 28), one of a general register none.
// (bf16 pairs interleaved by pdep: 0.995 of the rate of two shuffles.) On Granite Rapids vectors are faster: 256^3 1.037, 512^3 1.025.
#if GEMM_SAME && !defined(GEMM_MODEL) && !defined(GEMM_COVE)
#define GEMM_BESIDE_COPY
GEMM_INLINE void GEMM_F(carry_row)(char *to, const GEMM_TB *b, int64_t ldb) {
  (void)ldb;
  RIDGE_UNROLL_FULL for (int i = 0; i < GEMM_NV * GEMM_VEC / 8; i++) {
    uint64_t x;
    __asm__("movq %1, %0" : "=r"(x) : "m"(*(const gemm_u64 *)((const char *)b + 8 * i)));
    __asm__("movq %1, %0" : "=m"(*(gemm_u64 *)(to + 8 * i)) : "r"(x));
  }
}
#endif

#ifdef GEMM_BESIDE_COPY
#define GEMM_EXACT_KEEP(to) GEMM_F(carry_row)(to, src, ldb)
#else
#define GEMM_EXACT_KEEP(to) RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) *(V *)((to) + j * GEMM_VEC) = bv[j]
#endif

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
      GEMM_EXACT_KEEP(b + (q) * GEMM_NV * GEMM_VEC);                                                  \
      src += GEMM_PK * ldb;                                                                           \
      __asm__("" : "+r"(src));                                                                        \
    } else {                                                                                          \
      RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) bv[j] = *(const V *)(b + ((q) * GEMM_NV + j) * GEMM_VEC); \
    }                                                                                                 \
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) GEMM_F(row)(s[i], GEMM_EXACT_A(h, a, i, q), bv);    \
  } while (0)

#endif

#if GEMM_MR == 6 // all asked for before the tile, or four lines a row by the first units of one that is not fresh
#define GEMM_EXACT_SOON \
  do {                  \
  } while (0)
#else
#define GEMM_EXACT_SOON                                                                                       \
  do {                                                                                                \
    __builtin_prefetch(soon, 1);                                                                      \
    __builtin_prefetch(soon + 64, 1);                                                                 \
    if (soon == lowest) down = 0;                                                                     \
    soon += down;                                                                                     \
  } while (0)
#endif

#ifdef GEMM_CHAIN
#include "gemm_chain.h"
#else
#define GEMM_EXACT_ON(n) \
  GEMM_F(left_on)(h, &a, n), b += (n) * GEMM_NV * GEMM_VEC; \
  __asm__("" : "+r"(b))
// Asks for `units` units of packed B in the time of four.
#define GEMM_EXACT_ASKING(units)                                                                      \
  for (const char *p = (const char *)next; n > 0; n--) {                                              \
    GEMM_EXACT_SOON;                                                                                  \
    GEMM_EXACT_STEP(0, 0);                                                                            \
    for (int l = 0; l < (units) * GEMM_NV * GEMM_VEC / 2; l += 64) __builtin_prefetch(p + l, 0, 2);   \
    GEMM_EXACT_STEP(1, 0);                                                                            \
    GEMM_EXACT_STEP(2, 0);                                                                            \
    p += (units) * GEMM_NV * GEMM_VEC;                                                                \
    for (int l = (units) * GEMM_NV * GEMM_VEC / 2; l >= 64; l -= 64) __builtin_prefetch(p - l, 0, 2);  \
    GEMM_EXACT_STEP(3, 0);                                                                            \
    GEMM_EXACT_ON(4);                                                                                 \
    __asm__("" : "+r"(p));                                                                            \
  }
// The same of four units, a line each of eight parts that lie so many bytes apart; nothing of C, for few rows have little of it.
#define GEMM_EXACT_ASKING_PARTS(pitch)                                                                \
  for (const char *p = (const char *)next; n > 0; n--, p += 64) {                                     \
    const char *line = p;                                                                             \
    GEMM_EXACT_STEP(0, 0);                                                                            \
    RIDGE_UNROLL_FULL for (int l = 0; l < 4; l++, line += pitch) __builtin_prefetch(line, 0, 2);      \
    GEMM_EXACT_STEP(1, 0);                                                                            \
    GEMM_EXACT_STEP(2, 0);                                                                            \
    RIDGE_UNROLL_FULL for (int l = 0; l < 4; l++, line += pitch) __builtin_prefetch(line, 0, 2);      \
    GEMM_EXACT_STEP(3, 0);                                                                            \
    GEMM_EXACT_ON(4);                                                                                 \
    __asm__("" : "+r"(p));                                                                            \
  }

GEMM_TEMPLATE void GEMM_F(tile_of)(const int h, const int fresh, const int beside, int64_t kc, const void *ap, char *b, GEMM_S *c, int64_t ldc,
                                 int add, const GEMM_F(source) *from, const GEMM_F(end) *end) {
  typedef GEMM_F(vec) V;
  const GEMM_TB *src = fresh ? from->b : NULL;
  const int64_t ldb = fresh ? from->ldb : 0, ahead = fresh ? from->ahead : 0;
  V s[GEMM_MR][GEMM_NV];
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++) {
    RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) {
#if GEMM_A_HEAD
      s[i][j] = (V){0} + ((const GEMM_UNIT *)ap)[i];
#else
      s[i][j] = (V){0};
#endif
    }
  }
  // Rows of C that are needed soon, of 14 rows one for each four units: all at once they would hold up the first loads of A and B.
  const int other = from && from->soon; // not this tile's own
  const char *soon = other ? from->soon : c ? (const char *)c : (const char *)ap;
  int64_t down = other ? from->down : c ? ldc * (int64_t)sizeof(GEMM_S) : 0;
#if GEMM_MR == 6 && GEMM_NV == 2
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, soon += down) __builtin_prefetch(soon, 1);
#elif GEMM_NV == 2
  const char *const lowest = soon + (h - 1) * down;
#endif
  GEMM_F(left) a = GEMM_F(left_at)(h, (const char *)ap + GEMM_A_HEAD, GEMM_LYING ? from->a_down : 0);
  const int64_t units = kc / GEMM_PK;
  int64_t k = fresh ? from->units : units;
#if GEMM_NV == 4 // a loop of their own: instructions are what binds beside a busy thread
  if (fresh) {
    RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, soon += down)
      RIDGE_UNROLL_FULL for (int l = 0; l < GEMM_NV * GEMM_VEC; l += 64) __builtin_prefetch(soon + l, 1);
  } else {
    for (int64_t n = gemm_min(h, units / 4 - from->units - 1); n > 0; n--, soon += down) {
      RIDGE_UNROLL_FULL for (int l = 0; l < GEMM_NV * GEMM_VEC; l += 64) __builtin_prefetch(soon + l, 1);
      GEMM_EXACT_STEP(0, 0);
      GEMM_EXACT_STEP(1, 0);
      GEMM_EXACT_STEP(2, 0);
      GEMM_EXACT_STEP(3, 0);
      GEMM_EXACT_ON(4);
      k -= 4;
    }
  }
#endif
  if (!fresh && from) {
    int64_t n = gemm_min(from->units, k / 4);
    const GEMM_TB *next = from->b;
    k -= 4 * n;
    if (beside) {
      const int64_t pitch = from->ldb, far = from->ahead;
      char *to = from->to;
      for (; n > 0; n--) {
        GEMM_EXACT_SOON;
        GEMM_EXACT_STEP(0, 0);
        GEMM_EXACT_STEP(1, 0);
        for (int r = 0; r < GEMM_PK; r++)
          for (int l = 0; l < GEMM_NR * (int)sizeof(GEMM_TB); l += 64)
            __builtin_prefetch((const char *)(next + r * pitch + far) + l + 63, 0, 2);
#ifdef GEMM_BESIDE_COPY
        GEMM_F(carry_row)(to, next, pitch);
#else
        V nv[GEMM_NV];
        GEMM_F(beside_row)(nv, next, pitch);
        RIDGE_UNROLL_FULL for (int j = 0; j < GEMM_NV; j++) GEMM_F(put)(to + j * GEMM_VEC, &nv[j]);
#endif
        next += GEMM_PK * pitch, to += GEMM_NV * GEMM_VEC;
        __asm__("" : "+r"(next), "+r"(to));
        GEMM_EXACT_STEP(2, 0);
        GEMM_EXACT_STEP(3, 0);
        GEMM_EXACT_ON(4);
      }
    } else if (h >= GEMM_BESIDE_ROWS && !from->ahead) {
      GEMM_EXACT_ASKING(1)
#if GEMM_ASKS_PARTS
    } else if (from->ldb > 0) {
      const int64_t pitch = from->ldb;
      GEMM_EXACT_ASKING_PARTS(pitch)
#endif
    } else {
      GEMM_EXACT_ASKING(4)
    }
  }
  const int rows = !fresh && !end && k >= GEMM_LAST; // the last steps go row by row or by two rows
  if (rows) k -= GEMM_LAST;
  for (; k >= 4; k -= 4) {
    GEMM_EXACT_SOON;
    GEMM_EXACT_STEP(0, fresh);
    GEMM_EXACT_STEP(1, fresh);
    GEMM_EXACT_STEP(2, fresh);
    GEMM_EXACT_STEP(3, fresh);
    GEMM_EXACT_ON(4);
  }
  for (; k > 0; k--) {
    GEMM_EXACT_STEP(0, fresh);
    GEMM_EXACT_ON(1);
  }
  if (fresh && GEMM_PK > 1 && from->units < units) GEMM_EXACT_STEP(0, 0);
  if (rows) {
    if (add) GEMM_F(last_rows)(h, 1, s, &a, (const V *)b, c, ldc);
    else GEMM_F(last_rows)(h, 0, s, &a, (const V *)b, c, ldc);
    return;
  }
  GEMM_F(tile_end)(&s[0][0], h, GEMM_NV, c, ldc, add, end);
}

#endif

#if GEMM_MR == 6 && GEMM_NV == 2
#include "gemm_exact_runs.h"
#endif

#if GEMM_MR == 14
#define GEMM_EXACT_ALL(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define GEMM_EXACT_HIGH(X) X(10) X(11) X(12) X(13) X(14) // from GEMM_BESIDE_ROWS on
#define GEMM_EXACT_TOP(kind) GEMM_F(kind##_14)
#define GEMM_EXACT_HIGHEST(X) X(14)
#elif GEMM_MR == 6
#define GEMM_EXACT_ALL(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define GEMM_EXACT_HIGH(X) X(4) X(5) X(6)
#define GEMM_EXACT_TOP(kind) GEMM_F(kind##_6)
#define GEMM_EXACT_HIGHEST(X) X(6)
#else
#error "the heights are those of 14 and of 6 rows"
#endif
#define GEMM_EXACT_DEFINE(h)                                                                                       \
  GEMM_NOINLINE void GEMM_F(tile_##h)(int64_t kc, const void *a, char *b, GEMM_S *c, int64_t ldc, int add,         \
                                      const GEMM_F(source) *from, const GEMM_F(end) *end) {                        \
    GEMM_F(tile_of)(h, 0, 0, kc, a, b, c, ldc, add, from, end);                                                       \
  }                                                                                                                \
  GEMM_NOINLINE void GEMM_F(fresh_##h)(int64_t kc, const void *a, char *b, GEMM_S *c, int64_t ldc, int add,        \
                                       const GEMM_F(source) *from, const GEMM_F(end) *end) {                       \
    GEMM_F(tile_of)(h, 1, 0, kc, a, b, c, ldc, add, from, end);                                                       \
  }
#define GEMM_EXACT_BESIDE(h)                                                                                       \
  GEMM_NOINLINE void GEMM_F(beside_##h)(int64_t kc, const void *a, char *b, GEMM_S *c, int64_t ldc, int add,       \
                                        const GEMM_F(source) *from, const GEMM_F(end) *end) {                      \
    GEMM_F(tile_of)(h, 0, 1, kc, a, b, c, ldc, add, from, end);                                                    \
  }
#ifdef GEMM_TILE_ALONE
GEMM_EXACT_HIGHEST(GEMM_EXACT_DEFINE)
GEMM_EXACT_HIGHEST(GEMM_EXACT_BESIDE)
#ifdef GEMM_EXACT_RUNS
GEMM_EXACT_HIGHEST(GEMM_EXACT_RUN)
void *GEMM_F(alone_run)(void) { return GEMM_EXACT_TOP(run); }
#endif
#else
GEMM_EXACT_ALL(GEMM_EXACT_DEFINE)
GEMM_EXACT_HIGH(GEMM_EXACT_BESIDE)
typedef void (*GEMM_F(tile_fn))(int64_t, const void *, char *, GEMM_S *, int64_t, int, const GEMM_F(source) *,
                                const GEMM_F(end) *);
static const GEMM_F(tile_fn) GEMM_F(tiles)[3][GEMM_MR + 1] = {
#define GEMM_EXACT_PLAIN(h) [0][h] = GEMM_F(tile_##h),
#define GEMM_EXACT_FRESH(h) [1][h] = GEMM_F(fresh_##h),
#define GEMM_EXACT_FULL(h) [2][h] = GEMM_F(beside_##h),
    GEMM_EXACT_ALL(GEMM_EXACT_PLAIN) GEMM_EXACT_ALL(GEMM_EXACT_FRESH) GEMM_EXACT_HIGH(GEMM_EXACT_FULL)
};
#ifdef GEMM_EXACT_RUNS
GEMM_EXACT_ALL(GEMM_EXACT_RUN)
typedef void (*GEMM_F(run_fn))(int64_t, const void *, const char *, GEMM_S *, int64_t, int, int64_t);
static const GEMM_F(run_fn) GEMM_F(runs)[GEMM_MR + 1] = {
#define GEMM_EXACT_RUN_AT(h) [h] = GEMM_F(run_##h),
    GEMM_EXACT_ALL(GEMM_EXACT_RUN_AT)
};
#endif
#endif
#undef GEMM_EMBED
#undef GEMM_BESIDE_COPY
#undef GEMM_EXACT_A
#undef GEMM_EXACT_ON
#undef GEMM_EXACT_KEEP
#undef GEMM_EXACT_STEP
#undef GEMM_EXACT_SOON
#undef GEMM_EXACT_ASKING
#undef GEMM_EXACT_RUN
#undef GEMM_EXACT_RUN_AT
#undef GEMM_EXACT_ALL
#undef GEMM_EXACT_HIGH
#undef GEMM_EXACT_HIGHEST
#undef GEMM_EXACT_DEFINE
#undef GEMM_EXACT_BESIDE
#undef GEMM_EXACT_FULL
#undef GEMM_EXACT_PLAIN
#undef GEMM_EXACT_FRESH
