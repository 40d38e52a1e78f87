// Products on matrix tiles (template, in gemm_driver.h): strips of up to 48 rows, which meet nobody.
//
// Count (one Granite Rapids core, cycles of 3.4 GHz): a tile product takes 16 cycles of the tile unit, a tile load 8 to 9 from L1. A
// block of 3 x 2 tiles (48 rows x 32 columns, 16 of them at a time) takes per 64 bytes of K 6 products, 96 cycles, and 8 loads, 64 to 72: the unit binds.
// What else a block takes:
//   B      2 KiB per 96 cycles from L2, which gives a line in 1.2 to 1.3 cycles
//   A      stays in L1: 3 KiB per 64 bytes of K, 27 KiB for a block of K of 9 steps. Loads of B with the hint T1 do not evict it
//   sums   6 KiB read and written in L2 per block and block of K: 3.9 cycles a line, which bind unless asked for ahead
//   L3     a line in 7.5 cycles: of 1024^3 on two threads 65,000 lines a thread (A, half of B and C once), half of its multiplications' time
//
//   each thread, for its columns by nc:
//     for groups of its rows (sums of a group stay in L2 while K advances), for pc in K by KC:
//       the first group packs B[pc:pc+KC, columns]; it stays in L2 for the other groups where K*nc allows, else it comes from L3
//       for strips of the group, for panels of 32 columns: the block of tiles; the first panel reads A where it lies and stores it packed (L1)
//     behind the last block of K sums go by 6 KiB in L1 to their end and C, beside the next block's products
//
// SwiGLU: panels of the gate and of up in turn; where a panel of up ends, the gate's sums are beside its own in L1, and both meet in C.
//
// What was tried, one core, 480 x 512 sums and operands in L2, of the probe: blocks of 2x2 tiles, sums loaded before and stored behind each block 0.52 to
// 0.64; stores and loads between the products of the next block's first step 0.66, lines of sums asked for a block ahead 0.70, B by T1
// 0.74; 3x2 tiles 0.81 to 0.84 (8 to 11 steps; 12 steps 0.77, 14 steps 0.68: A leaves L1), 4x1 0.79, 5x1 0.81, 6x1 0.74. Without sums 0.97. B's tiles
// side by side (a tile is every other line) 0.05 less. All of K at once, A and B from L2: 0.82 without stores, but one tile store per 128 products
// takes it to 0.62 (780 cycles; one in eight blocks 0.79), wherever it stores.
// Whole products, bf16 1024^3, one thread: 0.34 as one of the Goto way's tiles; this 0.45, B packed beforehand 0.50. There, left out in turn: reading
// and packing A in the first panel 0.51, the way to C 0.54, both 0.62, both and what is asked for ahead 0.70. Tried without gain: A copied beside the
// products (stores that miss L1 hold up the loads behind them: 0.40), sums ended row by row beside later strips (0.43), lines of C not
// asked for, other blocks of K (8 to 16 steps) and groups (48 to 480 rows); a panel of B in L1 and A read where it lies, columns outermost: 512^3 0.43 ->
// 0.50, but 1024^3 0.42 -> 0.31 and 2048^3 0.38 -> 0.17, for rows a power of two apart leave L2. int32 C straight from the tiles: 512^3 0.43 -> 0.50,
// its lines asked for beside the products before: of the best library 0.84 -> 0.95 (Emerald Rapids, two threads), 1024^3 1.03 -> 1.12.
// Two threads: 512^3 0.29 -> 0.43, 1024^3 0.32 -> 0.45, 2048^3 0.30 -> 0.46;
// packed 0.32 -> 0.51, 0.36 -> 0.49, 0.35 -> 0.49; 16x4096x4096 of B[N,K] 0.030 -> 0.086, packed 0.097 -> 0.135 (876 Gop/s: 92 % of what L3 gives). Columns of B by what
// L2 keeps where K is one block: bf16 512x2048x256 1.16 times as fast.

#if defined(GEMM_MODEL)
#define GEMM_FETCH_W(p) ((void)(p))
#else
#define GEMM_FETCH_W(p) __asm__ volatile("prefetchw %0" ::"m"(*(const char *)(p)))
#endif

enum { GEMM_F(STRIP) = 48 }; // rows of a strip

// Rows of memory that are read next (other: and those so many bytes from them), asked for evenly over so many steps, whole rows at a time. Line by line (gemm_ahead) takes more instructions in
// every step: two threads, bf16 256^3 0.92 of this, 512^3 0.96, B packed 0.94, 64x4096x4096 0.94 (2048^3 1.03; int8 512^3 1.06, 1024^3 1.05).
typedef struct GEMM_F(fetch) {
  const char *at;
  int64_t pitch, bytes, left, rows, steps, sum, other;
} GEMM_F(fetch);

RIDGE_INLINE GEMM_F(fetch) GEMM_F(fetch_of)(const void *at, int64_t pitch, int64_t rows, int64_t bytes, int64_t steps) {
  return (GEMM_F(fetch)){at, pitch, bytes, rows, rows, steps, 0, 0};
}
GEMM_INLINE void GEMM_F(fetch_step)(GEMM_F(fetch) *f) {
  for (f->sum += f->rows; f->sum >= f->steps && f->left > 0; f->sum -= f->steps, f->left--, f->at += f->pitch) {
    for (int64_t l = 0; l < f->bytes; l += 64) __builtin_prefetch(f->at + l, 0, 2);
    for (int64_t l = 0; l < f->bytes && f->other; l += 64) __builtin_prefetch(f->at + f->other + l, 0, 2);
  }
}

// One strip against panels of B for a block of K.
typedef struct GEMM_F(strip_args) {
  const ridge_gemm_args *g;
  char *a;       // packed: [steps][tiles][16 rows][64 bytes]
  const char *b; // packed panels
  char *sums;    // [48][ld]
  int64_t ld;    // bytes
  int64_t steps, b_panel;
  int64_t i0, rows, j0, cols;  // of C
  int64_t panels;              // of B
  GEMM_F(fetch) ahead_a, ahead_b; // what is read next
  int64_t lda;                 // bytes between rows of A where the strip is packed here, else 0
  const char *from;            // its first row
  GEMM_S *out;                 // [48][32] in L1: sums of a block on their way to C (SwiGLU: of a gate, of up)
} GEMM_F(strip_args);

#ifdef GEMM_LAYERS
GEMM_NOINLINE void GEMM_F(gated)(GEMM_TC *c, int64_t ldc, int64_t rows, int64_t n, const GEMM_S *gate, const GEMM_S *up, int64_t ld);
#endif

// Ends h rows of sums t side by side, and asks for their lines of C at w.
GEMM_INLINE void GEMM_F(end_rows)(GEMM_F(end) *e, const GEMM_S *t, const char *w, const int h) {
  RIDGE_UNROLL_FULL for (int i = 0; i < h; i++, w += e->ldc * (int64_t)sizeof(GEMM_TC))
    for (int64_t l = 0; l < GEMM_NR * (int64_t)sizeof(GEMM_TC); l += 64) GEMM_FETCH_W(w + l);
  GEMM_F(end_part)(e, t, GEMM_NR, NULL, 0, h, 2);
  GEMM_F(end_down)(e, h);
}

// Ends the rows k of steps of the block that lies in out, and asks for the lines of C that are written two steps later: more of them, one below
// the other a power of two apart, would not find room in a set of L1.
GEMM_INLINE void GEMM_F(strip_end)(const GEMM_F(strip_args) *s, int64_t panel, int64_t k, int64_t each) {
  const int pairs = s->g->layers != RIDGE_LAYERS_ONE;
  const int64_t from = k * each, m = gemm_min(each, s->rows - from), j = (pairs ? panel / 2 : panel) * GEMM_NR;
  if (m <= 0 || (pairs && panel % 2 == 0)) return;
  const int64_t i = s->i0 + from, n = gemm_min(GEMM_NR, s->cols - j);
  const GEMM_S *t = s->out + from * GEMM_NR;
#ifdef GEMM_LAYERS
  if (pairs) {
    GEMM_F(gated)((GEMM_TC *)s->g->C + i * s->g->ldc + s->j0 + j, s->g->ldc, m, n, t, t + GEMM_F(STRIP) * GEMM_NR, GEMM_NR);
    return;
  }
#endif
  if (n < GEMM_NR) {
    GEMM_F(finish)(s->g, i, s->j0 + j, m, n, t, GEMM_NR, NULL, 0);
    return;
  }
  GEMM_F(end) e = GEMM_F(end_at)(s->g, i, s->j0 + j);
  const char *w = (const char *)(e.c + 2 * each * e.ldc);
  const int64_t down = e.ldc * (int64_t)sizeof(GEMM_TC);
  int64_t r = 0;
#ifndef GEMM_NO_ACT
  for (; s->g->act > RIDGE_ACT_RELU && r + 2 <= m; r += 2) GEMM_F(end_rows)(&e, t + r * GEMM_NR, w + r * down, 2); // each vector takes long
#endif
  for (; r < m; r++) GEMM_F(end_rows)(&e, t + r * GEMM_NR, w + r * down, 1);
}

// Accumulator q: the block before is stored and this one begins, between the products of the first step.
#define GEMM_AT(p, i, j) ((p) + (i) * 16 * ld + (j) * 64)
#define GEMM_TURN(q, i, j)                    \
  if (before) GEMM_SAVE(q, i, j)              \
  if (add) TILE_LOAD(q, GEMM_AT(c, i, j), ld);\
  else TILE_ZERO(q);
#define GEMM_SAVE(q, i, j)                                                                   \
  {                                                                                          \
    if (last) TILE_STORE(q, out + (i) * 16 * out_ld + (j) * 64, out_ld);                     \
    else TILE_STORE(q, GEMM_AT(before, i, j), ld);                                           \
  }
#define GEMM_NO_TURN(q, i, j)
// Tile i of A to register x: packed, or read where it lies and stored packed on the way.
#define GEMM_PACKED(x, i) TILE_LOAD(x, a + (i) * 1024, 64);
#define GEMM_PACKS(x, i)                           \
  TILE_LOAD(x, from + (i) * 16 * s->lda, s->lda);  \
  TILE_STORE(x, a + (i) * 1024, 64);
// One step of K. T: what happens to an accumulator before its product. Few registers, for they are renamed from few while another thread has the core's other
// half (docs/kernels/gemm.md, Emerald Rapids). Three tiles of rows take half a panel at a time, q = i, in five registers. Two tiles of rows take a
// panel, q = 2 i + j, in seven, which alone on a core is the fastest, or, where ridge_amx_crowded tells so, half a panel at a time in four. One thread, of 3x2 and 2x2
// tiles in eight, beside a neighbour: 48x2048x2048 1.44, 512^3 bf16 1.4, int8 1.7, 1024^3 1.35 to 1.4, 1.54 to 1.7 (a whole panel 1.2 to 1.28, 1.65, 1.25, 1.3); alone 1.04; 1.00
// to 1.04, 0.91 to 1.00; 1.00 to 1.03, 1.0 to 1.1 (half a panel 0.85 to 0.93).
#define GEMM_STEP3(T, A)                    \
  TILE_LOAD_T1(6, b, 64);                   \
  A(4, 0)                                   \
  T(0, 0, 0) TILE_DOT(0, 4, 6);             \
  A(4, 1)                                   \
  T(1, 1, 0) TILE_DOT(1, 4, 6);             \
  A(4, 2)                                   \
  T(2, 2, 0) TILE_DOT(2, 4, 6);
#define GEMM_STEP2(T, A)                    \
  TILE_LOAD_T1(6, b, 64);                   \
  A(4, 0)                                   \
  T(0, 0, 0) TILE_DOT(0, 4, 6);             \
  A(5, 1)                                   \
  T(2, 1, 0) TILE_DOT(2, 5, 6);             \
  TILE_LOAD_T1(6, b + 1024, 64);            \
  T(3, 1, 1) TILE_DOT(3, 5, 6);             \
  T(1, 0, 1) TILE_DOT(1, 4, 6);
#define GEMM_STEP2_HALF(T, A)               \
  TILE_LOAD_T1(6, b, 64);                   \
  A(4, 0)                                   \
  T(0, 0, 0) TILE_DOT(0, 4, 6);             \
  A(4, 1)                                   \
  T(1, 1, 0) TILE_DOT(1, 4, 6);
#define GEMM_STEP1(T, A)                    \
  TILE_LOAD_T1(6, b, 64);                   \
  A(4, 0)                                   \
  T(0, 0, 0) TILE_DOT(0, 4, 6);             \
  TILE_LOAD_T1(7, b + 1024, 64);            \
  T(1, 0, 1) TILE_DOT(1, 4, 7);
#define GEMM_STEP(T, A)                     \
  do {                                      \
    if (h == 3) { GEMM_STEP3(T, A) }        \
    else if (half) { GEMM_STEP2_HALF(T, A) }\
    else if (h == 2) { GEMM_STEP2(T, A) }   \
    else { GEMM_STEP1(T, A) }               \
  } while (0)

RIDGE_INLINE int GEMM_F(straight)(const GEMM_F(strip_args) *s, int h) {
  return GEMM_C_IS_S && !s->g->layers && GEMM_F(plain)(s->g) && s->rows == 16 * h && s->cols % GEMM_NR == 0;
}

// h tiles of rows, half a panel at a time or a panel. add: sums of earlier blocks of K are in s->sums; last: no block of K follows.
GEMM_TEMPLATE void GEMM_F(strip)(GEMM_F(strip_args) *s, const int h, const int half, const int add, const int last) {
  const int64_t panels = s->panels, steps = s->steps, ld = s->ld;
  const int halves = 1 + half, lines = 3 - halves; // of a panel; of a row of a block's sums
  const int64_t rows = (16 * h + steps - 1) / steps; // of the next block's sums, or of this one's in C, that are asked for in a step
  const int64_t each = (s->rows + steps - 1) / steps; // rows that are ended in a step
  const int pairs = s->g->layers != RIDGE_LAYERS_ONE;
  int packs = s->lda != 0; // the first panel packs the strip
  char *c = s->sums, *before = NULL;
  // Where C is just the sums and all tiles are whole, they go straight to it.
  const int straight = last && GEMM_F(straight)(s, h);
  const int64_t out_ld = straight ? s->g->ldc * 4 : GEMM_NR * 4;
  char *to = straight ? (char *)((GEMM_S *)s->g->C + s->i0 * s->g->ldc + s->j0) : (char *)s->out, *out = to; // of this block, of the block before
  TILE_STATE
  for (int64_t q = 0; q < panels * halves; q++, c += lines * 64) {
    const int64_t p = q / halves, v = q % halves;
    const char *b = s->b + p * s->b_panel + v * 1024, *w = c + lines * 64, *from = s->from;
    char *a = s->a;
    for (int64_t k = 0; k < steps; k++, a += h * 1024, b += 2048, from += 64) {
      if (k == 0) {
        if (packs) GEMM_STEP(GEMM_TURN, GEMM_PACKS);
        else GEMM_STEP(GEMM_TURN, GEMM_PACKED);
      } else if (packs) GEMM_STEP(GEMM_NO_TURN, GEMM_PACKS);
      else GEMM_STEP(GEMM_NO_TURN, GEMM_PACKED);
      if (!last || add)
        for (int64_t l = 0; l < rows; l++, w += ld) {
          GEMM_FETCH_W(w);
          if (lines == 2) GEMM_FETCH_W(w + 64);
        }
      if (straight)
        for (int64_t l = k * rows; l < gemm_min((k + 1) * rows, 16 * h); l++) {
          GEMM_FETCH_W(to + l * out_ld);
          if (lines == 2) GEMM_FETCH_W(to + l * out_ld + 64);
        }
      if (last && !straight && p > 0 && v == 0) GEMM_F(strip_end)(s, p - 1, k, each);
      if (halves == 1 || (k & 1) == v) {
        GEMM_F(fetch_step)(&s->ahead_a);
        GEMM_F(fetch_step)(&s->ahead_b);
      }
    }
    before = c, out = to, packs = 0;
    if (straight || v + 1 < halves) to += lines * 64;
    else if (pairs) to = (char *)(s->out + (p % 2 ? 0 : GEMM_F(STRIP) * GEMM_NR));
    else to = (char *)s->out;
  }
  GEMM_SAVE(0, 0, 0)
  if (half) GEMM_SAVE(1, 1, 0)
  else GEMM_SAVE(1, 0, 1)
  if (h == 3) GEMM_SAVE(2, 2, 0)
  else if (h == 2 && !half) { GEMM_SAVE(2, 1, 0) GEMM_SAVE(3, 1, 1) }
  if (last && !straight)
    for (int64_t k = 0; k < steps; k++) GEMM_F(strip_end)(s, panels - 1, k, each);
}
#undef GEMM_TURN
#undef GEMM_SAVE
#undef GEMM_AT
#undef GEMM_NO_TURN
#undef GEMM_PACKED
#undef GEMM_PACKS
#undef GEMM_STEP1
#undef GEMM_STEP2
#undef GEMM_STEP2_HALF
#undef GEMM_STEP3
#undef GEMM_STEP

typedef void (*GEMM_F(strip_fn))(GEMM_F(strip_args) *s);
#define GEMM_STRIP(name, h, half, add, last) \
  GEMM_NOINLINE void GEMM_F(name##add##last)(GEMM_F(strip_args) *s) { GEMM_F(strip)(s, h, half, add, last); }
#define GEMM_STRIPS(name, h, half) GEMM_STRIP(name, h, half, 0, 0) GEMM_STRIP(name, h, half, 0, 1) GEMM_STRIP(name, h, half, 1, 0) GEMM_STRIP(name, h, half, 1, 1)
GEMM_STRIPS(strip_1_, 1, 0) GEMM_STRIPS(strip_2_, 2, 0) GEMM_STRIPS(strip_2_half_, 2, 1) GEMM_STRIPS(strip_3_, 3, 1)
#define GEMM_ROW(name) {{GEMM_F(name##00), GEMM_F(name##01)}, {GEMM_F(name##10), GEMM_F(name##11)}}
// [whether registers are few][tiles of rows - 1][add][last]
static const GEMM_F(strip_fn) GEMM_F(strips)[2][3][2][2] = {{GEMM_ROW(strip_1_), GEMM_ROW(strip_2_), GEMM_ROW(strip_3_)},
                                                           {GEMM_ROW(strip_1_), GEMM_ROW(strip_2_half_), GEMM_ROW(strip_3_)}};
#undef GEMM_STRIPS
#undef GEMM_ROW
#undef GEMM_STRIP

// Whether strips are to take few registers, asked behind a thread's first strip where its products take 54 us and more; before, and in shorter ones, not.
#if defined(GEMM_MODEL)
#define GEMM_ASKS(g, nthreads) 1
#define GEMM_CROWDED(g) ((g)->M / 16 % 2 != 0)
#else
#define GEMM_ASKS(g, nthreads) ((g)->M > GEMM_TILES_FEW && (g)->M * (g)->N * ((g)->K / GEMM_KU) >= ((int64_t)1 << 21) * (nthreads))
#define GEMM_CROWDED(g) ridge_amx_crowded()
#endif

// Tiles of a strip at most: A of two with a block of K of 16 steps stays in L1 as that of three with nine does.
RIDGE_INLINE int64_t GEMM_F(tall)(const GEMM_F(plan) *p) { return p->kc > GEMM_KC ? 2 : 3; }

// Strips of `tiles` tiles of 16 rows: three each, where one would be left over two of two; or two each. Strip t begins at tile *at and has the returned ones.
RIDGE_INLINE int64_t GEMM_F(strip_count)(int64_t tiles, int64_t tall) { return (tiles + tall - 1) / tall; }
RIDGE_INLINE int GEMM_F(strip_at)(int64_t tiles, int64_t tall, int64_t t, int64_t *at) {
  const int64_t n = GEMM_F(strip_count)(tiles, tall), twos = n * 3 - tiles; // the last ones have two (or all have, or one has one)
  if (tall == 2) return *at = t * 2, (int)gemm_min(2, tiles - t * 2);
  if (tiles < 3) return *at = 0, (int)tiles;
  *at = t * 3 - (t > n - twos ? t - (n - twos) : 0);
  return t < n - twos ? 3 : 2;
}

// 16 h rows (some absent: zeros) of kc elements as [step][tile][16][64 bytes].
GEMM_NOINLINE void GEMM_F(pack_strip)(char *to, const GEMM_TA *a, int64_t lda, int64_t rows, int64_t h, int64_t kc) {
  const int64_t whole = kc / GEMM_KU, rest = kc % GEMM_KU, pitch = h * 1024;
  for (int64_t i = 0; i < h * 16; i++, to += 64, a += lda) {
    char *p = to;
    if (i >= rows) {
      for (int64_t k = 0; k < kc; k += GEMM_KU, p += pitch) memset(p, 0, 64);
      continue;
    }
    const char *src = (const char *)a;
    for (int64_t k = 0; k < whole; k++, p += pitch, src += 64) memcpy(p, src, 64);
    if (rest) memset(p, 0, 64), memcpy(p, src, (size_t)rest * sizeof(GEMM_TA));
  }
}

// The grid of threads over rows and columns: per element of K a thread has rows*columns/512 cycles of products, reads rows/4 cycles of A from
// L3 and reads and packs columns*0.4 of B.
RIDGE_INLINE void GEMM_F(tiles_grid)(const ridge_gemm_args *g, int64_t nthreads, int *tm, int *tn) {
  const int64_t mp = (g->M + 15) / 16, np = (g->N + GEMM_NR - 1) / GEMM_NR, times = GEMM_F(times)(g);
  int64_t best = INT64_MAX;
  *tm = 1, *tn = (int)nthreads;
  for (int64_t m = 1; m <= nthreads; m++) {
    const int64_t n = nthreads / m, rows = (mp + m - 1) / m * 16, cols = (np + n - 1) / n * GEMM_NR * times;
    const int64_t cost = rows * cols / 512 + rows / 4 + cols * 2 / 5;
    if (cost < best) best = cost, *tm = (int)m, *tn = (int)n;
  }
}

// Rows up to which all of A is packed once, for columns in narrow groups: a panel packed from B[N,K] is multiplied in L1 (16x4096x4096, two threads, 548
// Gop/s; four panels 430), of B[K,N] two, whose rows are read by whole pairs of lines (308; one panel 211, eight 276).
#define GEMM_TILES_FEW 96
#define GEMM_TILES_KEPT (32 << 20) // bytes of packed B that a thread keeps for further groups of rows

// K of a block, at most. Sixteen steps in strips of two tiles have half the sums that go through L2, and B that is read half as often again. Emerald Rapids, two
// threads, of the best library before and so: int8 1024^3 0.83 and 1.03, 2048^3 0.94 and (C asked for too) 1.05 to 1.27; bf16 512^3 0.88 and 1.01, 1024^3 1.03 and 1.05, 2048^3 1.07 and 1.13.
// Up to 16 rows of 4096 x 4096 lose 5 to 16 % by it, 64 rows of int8 6 %.
RIDGE_INLINE int64_t GEMM_F(tiles_kc)(const ridge_gemm_args *g) { return g->kc > 0 ? g->kc : g->M > GEMM_TILES_FEW ? 16 * GEMM_KU : GEMM_KC; }

// What a thread has of the workspace: A, B, sums, out.
RIDGE_INLINE void GEMM_F(plan_tiles)(GEMM_F(plan) *p, const ridge_gemm_args *g, int64_t nthreads) {
  int tm, tn;
  GEMM_F(tiles_grid)(g, nthreads, &tm, &tn);
  p->kc = gemm_block(g->K, GEMM_F(tiles_kc)(g), GEMM_KU), p->b_panel = GEMM_B_PANEL(p->kc);
  const int64_t rows = gemm_min(g->M, gemm_ceil((g->M + tm - 1) / tm, 16) + 16), times = GEMM_F(times)(g), cols = gemm_min(gemm_ceil(g->N, GEMM_NR), gemm_ceil((g->N + tn - 1) / tn, GEMM_NR) + GEMM_NR) * times;
  const int64_t blocks = (g->K + p->kc - 1) / p->kc, few = rows <= GEMM_TILES_FEW && !g->packing;
  // Columns of B that L2 keeps, at least GEMM_NC: A is read and packed anew for every block of them.
  const int64_t keep = gemm_min(4 * GEMM_NC, (1 << 20) / (g->K * (int64_t)sizeof(GEMM_TB)) / GEMM_NR * GEMM_NR);
  p->nc = gemm_block(cols, g->nc > 0 ? g->nc : few ? (g->trans_b ? times : 2) * GEMM_NR : keep > GEMM_NC ? keep : GEMM_NC, times * GEMM_NR); // columns of panels
  const int64_t panels = p->nc / GEMM_NR, stays = g->K * p->nc * (int64_t)sizeof(GEMM_TB) <= 1 << 20;
  const int64_t tall = GEMM_F(tall)(p) * 16;
  p->rows = gemm_block(rows, g->mc > 0 ? g->mc : blocks == 1 ? tall : stays ? GEMM_MC / 2 : GEMM_MC, tall);
  p->a_panel = (p->kc + GEMM_KU - 1) / GEMM_KU * 64; // bytes of a row
  p->a_bytes = ridge_apart((few ? blocks * gemm_ceil(rows, GEMM_F(STRIP)) : GEMM_F(STRIP)) * p->a_panel);
  p->way = GEMM_F(STRIPS);
  p->kept = rows > p->rows && blocks * panels * p->b_panel <= GEMM_TILES_KEPT;
  p->far = !stays;
  p->b_bytes = g->packing ? 0 : ridge_apart((p->kept ? blocks : 1) * panels * p->b_panel);
  p->acc_ld = p->nc + 16; // an odd number of lines
  p->acc_bytes = blocks == 1 ? 0 : ridge_apart(p->rows * p->acc_ld * (int64_t)sizeof(GEMM_S)) + 4096; // lines beyond are asked for
  p->few = few;
  p->a_at = 0, p->acc_at = p->a_bytes + p->b_bytes;
  p->total = nthreads * (p->acc_at + p->acc_bytes + ridge_apart(times * GEMM_F(STRIP) * GEMM_NR * (int64_t)sizeof(GEMM_S)));
}

// Asks for the block of B from pc of K on and so many columns from jc.
GEMM_INLINE GEMM_F(fetch) GEMM_F(b_ahead)(const ridge_gemm_args *g, const GEMM_F(plan) *p, int64_t pc, int64_t jc, int64_t cols, int64_t calls) {
  const int64_t kc = gemm_min(p->kc, g->K - pc), b = sizeof(GEMM_TB);
  if (g->packing)
    return GEMM_F(fetch_of)(GEMM_F(given)(g, p, pc, jc), 1024, GEMM_F(times)(g) * ((cols + GEMM_NR - 1) / GEMM_NR) * GEMM_B_PANEL(gemm_ceil(kc, GEMM_KU)) / 1024, 1024, calls);
  const GEMM_TB *next = (const GEMM_TB *)g->B + (g->trans_b ? jc * g->ldb + pc : pc * g->ldb + jc);
  if (g->layers) {
    GEMM_F(fetch) f = GEMM_F(fetch_of)(next, g->ldb * b, cols, kc * b, calls);
    f.other = (const char *)((const GEMM_TB *)g->B2 + jc * g->ldb2 + pc) - (const char *)next; // exact where both have one pitch
    return f;
  }
  return g->trans_b ? GEMM_F(fetch_of)(next, g->ldb * b, cols, kc * b, calls) : GEMM_F(fetch_of)(next, g->ldb * b, kc, cols * b, calls);
}

GEMM_NOINLINE int GEMM_F(run_tiles)(const ridge_gemm_args *g, const ridge_ctx *ctx, const GEMM_F(plan) *p) {
  char *own = (char *)ctx->workspace + ctx->tid * (p->total / ctx->nthreads), *b_pack = own + p->a_bytes, *sums = own + p->acc_at;
  int tm, tn;
  GEMM_F(tiles_grid)(g, ctx->nthreads, &tm, &tn);
  if (ctx->tid >= tm * tn) return RIDGE_OK;
  int64_t r0, r1, c0, c1;
  ridge_share(g->M, 16, ctx->tid / tn, tm, &r0, &r1);
  ridge_share(g->N, GEMM_NR, ctx->tid % tn, tn, &c0, &c1);
  if (r0 >= r1 || c0 >= c1) return RIDGE_OK;
  const int64_t a_size = sizeof(GEMM_TA);
  GEMM_F(strip_args) s;
  memset(&s, 0, sizeof s);
  s.g = g, s.ld = p->acc_ld * (int64_t)sizeof(GEMM_S), s.out = (GEMM_S *)(sums + p->acc_bytes);
  int crowded = 0, strip = 0; // strips done
  const int asks = GEMM_ASKS(g, ctx->nthreads);
  GEMM_BEGIN
  const int64_t times = GEMM_F(times)(g), nc = p->nc / times;
  for (int64_t jc = c0; jc < c1; jc += nc) {
    s.j0 = jc, s.cols = gemm_min(nc, c1 - jc);
    const int64_t panels = s.panels = (s.cols + GEMM_NR - 1) / GEMM_NR * times;
    for (int64_t ig = r0, group; ig < r1; ig += group) {
      group = gemm_min(p->rows, r1 - ig);
      const int64_t tiles = (group + 15) / 16, strips = GEMM_F(strip_count)(tiles, GEMM_F(tall)(p)), last_group = ig + group >= r1;
      for (int64_t pc = 0; pc < g->K; pc += p->kc) {
        const int64_t kc = gemm_min(p->kc, g->K - pc), last = pc + kc >= g->K;
        s.steps = (kc + GEMM_KU - 1) / GEMM_KU, s.b_panel = GEMM_B_PANEL(s.steps * GEMM_KU);
        char *b = b_pack + (p->kept ? pc / p->kc * panels * p->b_panel : 0);
        if (g->packing) b = GEMM_F(given)(g, p, pc, jc);
        else if (times == 2 && (ig == r0 || !p->kept))
          for (int64_t i = 0; i < panels; i++) { // gate, up, gate, ...
            const int64_t j = jc + i / 2 * GEMM_NR;
            GEMM_F(pack_b)(b + i * s.b_panel, i % 2 ? (const GEMM_TB *)g->B2 + j * g->ldb2 + pc : (const GEMM_TB *)g->B + j * g->ldb + pc,
                           i % 2 ? g->ldb2 : g->ldb, 1, gemm_min(GEMM_NR, c1 - j), kc);
          }
        else if (ig == r0 || !p->kept)
          GEMM_F(pack_b)(b, (const GEMM_TB *)g->B + (g->trans_b ? jc * g->ldb + pc : pc * g->ldb + jc), g->ldb, g->trans_b, s.cols, kc);
        s.b = b;
        // What comes next of B.
        const int64_t calls = strips * panels * s.steps;
        s.ahead_b = GEMM_F(fetch_of)(NULL, 0, 0, 0, 1);
        if (!last) {
          if (ig == r0 || p->far) s.ahead_b = GEMM_F(b_ahead)(g, p, pc + kc, jc, s.cols, calls);
        } else if (!last_group) {
          if (p->far) s.ahead_b = GEMM_F(b_ahead)(g, p, 0, jc, s.cols, calls);
        } else if (jc + s.cols < c1)
          s.ahead_b = GEMM_F(b_ahead)(g, p, 0, jc + s.cols, gemm_min(nc, c1 - jc - s.cols), calls);
        if (p->kept && ig != r0 && s.ahead_b.left > 0 && !g->packing && !(last && last_group)) // it was packed before
          s.ahead_b = GEMM_F(fetch_of)(last ? b_pack : b + panels * p->b_panel, 1024, panels * p->b_panel / 1024, 1024, calls);
        for (int64_t t = 0; t < strips; t++) {
          int64_t at;
          const int h = GEMM_F(strip_at)(tiles, GEMM_F(tall)(p), t, &at);
          s.i0 = ig + at * 16, s.rows = gemm_min(h * 16, r1 - s.i0);
          s.a = own + (p->few ? (pc / p->kc * gemm_ceil(r1 - r0, GEMM_F(STRIP)) + s.i0 - r0) * p->a_panel : 0);
          s.from = (const char *)((const GEMM_TA *)g->A + s.i0 * g->lda + pc), s.lda = 0, s.ahead_a = GEMM_F(fetch_of)(NULL, 0, 0, 0, 1);
          if (!p->few || jc == c0) {
            if (s.rows == h * 16 && kc % GEMM_KU == 0) s.lda = g->lda * a_size;
            else GEMM_F(pack_strip)(s.a, (const GEMM_TA *)s.from, g->lda, s.rows, h, kc);
            // The strip behind it: of this block of K, or the first one of the next block, group or columns.
            int64_t i = s.i0 + h * 16, k = pc;
            if (t + 1 == strips) i = !last ? ig : last_group ? r0 : ig + group, k = last ? 0 : pc + kc;
            s.ahead_a = GEMM_F(fetch_of)((const GEMM_TA *)g->A + i * g->lda + k, g->lda * a_size, gemm_min(GEMM_F(STRIP), r1 - i),
                                      gemm_min(p->kc, g->K - k) * a_size, panels * s.steps);
          }
          s.sums = sums + at * 16 * s.ld;
          if (strip++ == 1 && asks) crowded = GEMM_CROWDED(g);
          GEMM_F(strips)[crowded][h - 1][pc > 0][last](&s);
        }
      }
    }
  }
  GEMM_END
  return RIDGE_OK;
}
#undef GEMM_FETCH_W
