// Blocks of tiles on AMX: two tiles of 16 pixels times a panel of 32 channels, or three times half a panel, twice, over the whole reduction
//
//   sums[m*16 + r, 32] = sum over steps i of tile m's row r at at[i], 64 bytes, times panel[i]
//
// The sums leave the accumulators within the first step of the next half, each before the product that starts its accumulator anew, and meet their end
// (bias, residual, activation, rounding, the store of 32 channels of a pixel) in the last steps of the next block, a tile at a time.
//
// Registers are renamed from a pool: every load, product and zero takes one until the instruction that overwrites it has retired. Alone on the core the pool
// is large enough for any order, and two tiles times a panel, each loaded once, are the fastest. While another thread has the core's other half a product
// takes 70 * (1 + its share of loads) / (10 - registers in use) cycles (measured on Emerald Rapids: docs/kernels/gemm.md): 2x2 tiles 70 in eight registers, 48 in seven, 41 in
// six (a tile of pixels loaded twice), 3x1 34 in five. Which of the two it is ridge_amx_crowded tells; launches too short to ask take few. Then pixels that do
// not stay in L1 for the panel's other half meet whole panels, in six registers.
#ifndef RIDGE_CONV_AMX_TILE_H
#define RIDGE_CONV_AMX_TILE_H

#include "conv_amx_nchw.h"

#if defined(RIDGE_MODEL)
#define RIDGE_AMX_MODEL
#endif
#include "../include/ridge_amx.h"

// Where a tile reads and which pixels it gives: q, q + 1, ..., or q + map[r], none where map[r] < 0.
typedef struct amx_tile {
  const char *base;
  int64_t q;
  const int16_t *map;
} amx_tile;

// Tiles whose sums wait for their end.
typedef struct ending {
  const amx_tile *tile;
  int64_t left;      // tiles
  int64_t k, n, bk;  // their first channel in y, channels, first channel in bias
  const me *from;
  int64_t ahead;     // bytes from a row's place in y to that of the next block's
} ending;

struct job;
typedef void (*end_fn)(const struct job *j, const ending *e, const me *sums, int64_t q, int64_t rows);

typedef struct job {
  const ridge_conv_args *a;
  const int64_t *at; // [steps]
  int64_t steps, stride, high; // high: rows of a tile
  end_fn end;          // of whole panels
  const me *bias;      // of all panels, zeros beyond the channels
  const float *scale;
  int64_t most;        // tiles of a block: two times a panel, or three times half a panel
  int few, asks;       // whether registers are few; whether that is still to be asked
  int64_t unsaved;     // tiles of the last block whose sums are still in the accumulators (PAIR: two times a panel): they go to `save`
  me *sums, *spare, *save; // [MOST*16][NR]: of this block, of the next one
  const char *ask, *ask_end; // lines that are asked for meanwhile, `pace` bytes with a step
  int64_t pace;
  ending now;          // of the last block
#if defined(RIDGE_MODEL)
  uint32_t state[8][16][16];
#endif
} job;

#if defined(RIDGE_MODEL)
#define AMX_STATE uint32_t(*tiles)[16][16] = j->state;
#if defined(CONV_INT8)
#define AMX_DOT(d, x, b) ridge_tile_dot_bytes(tiles[d], tiles[x], 1, tiles[b], (int)j->high)
#else
#define AMX_DOT(d, x, b) ridge_tile_dot_bf16(tiles[d], tiles[x], tiles[b], (int)j->high)
#endif
#define AMX_PIXELS(x, p) \
  for (int r_ = 0; r_ < (int)j->high; r_++) memcpy(tiles[x][r_], (const char *)(p) + r_ * j->stride, 64)
#else
#define AMX_STATE
#if defined(CONV_INT8)
#define AMX_DOT(d, x, b) __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #x ", %%tmm" #d ::)
#else
#define AMX_DOT(d, x, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #x ", %%tmm" #d ::)
#endif
#define AMX_PIXELS(x, p) TILE_LOAD(x, p, stride)
#endif

enum { PAIR = 4 };
enum { END_RESIDUAL = 1, END_RELU = 2, END_BYTES = 4, END_BIAS = 8 };

// Rows of NR whole channels whose pixels follow each other. Each asks for the next block's line of y, which else comes from L2 while the stores wait.
RIDGE_INLINE RIDGE_VT void end_run(const job *j, const ending *e, const me *sums, int64_t q, int64_t rows, const int end) {
  const ridge_conv_args *a = j->a;
  const int64_t K = a->K, ahead = e->ahead, at = q * K + e->k;
  const mv bias0 = *(const mv *)(j->bias + e->bk), bias1 = *(const mv *)(j->bias + e->bk + VL);
  (void)ahead;
#if defined(CONV_INT8)
  if (end & END_BYTES) {
    const ridge_vf scale0 = *(const ridge_vf *)(j->scale + e->bk), scale1 = *(const ridge_vf *)(j->scale + e->bk + VL);
    const int ask = e->bk % (2 * NR) == 0; // a line is two panels
    int8_t *y = (int8_t *)a->y + at;
    RIDGE_UNROLL(2)
    for (int64_t r = 0; r < rows; r++, sums += NR, y += K) {
      mv low = *(const mv *)sums, high = *(const mv *)(sums + VL);
      if (end & END_BIAS) low = plus(low, bias0), high = plus(high, bias1);
      store_requantised2(y, low, high, scale0, scale1, end & END_RELU);
      if (ask) __builtin_prefetch((const char *)y + 64, 1);
    }
    return;
  }
#endif
  yt *y = (yt *)a->y + at;
  const yt *residual = (const yt *)a->residual + (end & END_RESIDUAL ? at : 0);
  RIDGE_UNROLL(4)
  for (int64_t r = 0; r < rows; r++, sums += NR, y += K) {
    mv low = *(const mv *)sums, high = *(const mv *)(sums + VL);
    if (end & END_BIAS) low = plus(low, bias0), high = plus(high, bias1);
    if (end & END_RESIDUAL) low = plus(low, load_out(residual)), high = plus(high, load_out(residual + VL)), residual += K;
#if defined(CONV_BF16)
    if (end & END_RELU) low = activate(low, RIDGE_ACT_RELU), high = activate(high, RIDGE_ACT_RELU);
#endif
#if defined(RIDGE_NARROW2)
    RIDGE_NARROW2(y, low, high);
    __builtin_prefetch((const char *)y + ahead, 1);
#else
    store_out(y, low), store_out(y + VL, high);
    __builtin_prefetch((const char *)y + ahead, 1), __builtin_prefetch((const char *)(y + VL) + ahead, 1);
#endif
  }
}

// Incomplete panels, and activations that take long.
__attribute__((noinline)) RIDGE_VT static void end_slowly(const job *j, const ending *e, const me *sums, int64_t q, int64_t rows) {
  const ridge_conv_args *a = j->a;
  for (int64_t at = q * a->K + e->k; rows > 0; rows--, sums += NR, at += a->K) {
    int64_t l = 0;
    for (; l + VL <= e->n; l += VL) finish_channels(a, *(const mv *)(sums + l), e->k + l, at + l);
    for (; l < e->n; l++) finish_one(a, sums[l], e->k + l, at + l);
  }
}

#define END_RUN(name, kind) \
  __attribute__((noinline)) RIDGE_VT static void name(const job *j, const ending *e, const me *sums, int64_t q, int64_t rows) { end_run(j, e, sums, q, rows, kind); }
END_RUN(end_plain, 0)
END_RUN(end_bias, END_BIAS)
END_RUN(end_residual, END_RESIDUAL)
END_RUN(end_bias_residual, END_BIAS | END_RESIDUAL)
#if defined(CONV_INT8)
END_RUN(end_bytes, END_BYTES)
END_RUN(end_bytes_relu, END_BYTES | END_RELU)
END_RUN(end_bias_bytes, END_BIAS | END_BYTES)
END_RUN(end_bias_bytes_relu, END_BIAS | END_BYTES | END_RELU)
#else
END_RUN(end_relu, END_RELU)
END_RUN(end_bias_relu, END_BIAS | END_RELU)
END_RUN(end_residual_relu, END_RESIDUAL | END_RELU)
END_RUN(end_bias_residual_relu, END_BIAS | END_RESIDUAL | END_RELU)
#endif

// The end of whole panels.
static end_fn end_of(const ridge_conv_args *a) {
  const int bias = a->bias != NULL, residual = a->residual != NULL, relu = a->act == RIDGE_ACT_RELU;
#if defined(CONV_INT8)
  static const end_fn words[2][2] = {{end_plain, end_residual}, {end_bias, end_bias_residual}};
  static const end_fn bytes[2][2] = {{end_bytes, end_bytes_relu}, {end_bias_bytes, end_bias_bytes_relu}};
  return a->scale ? bytes[bias][relu] : words[bias][residual];
#else
  static const end_fn ends[2][2][2] = {{{end_plain, end_relu}, {end_residual, end_residual_relu}},
                                       {{end_bias, end_bias_relu}, {end_bias_residual, end_bias_residual_relu}}};
  return a->act != RIDGE_ACT_NONE && !relu ? end_slowly : ends[bias][residual][relu];
#endif
}

RIDGE_INLINE RIDGE_VT void end_some(const job *j, const ending *e, const me *sums, int64_t q, int64_t rows) {
  (e->n < NR ? end_slowly : j->end)(j, e, sums, q, rows);
}

// NCHW: halves of a tile, 16 channels each. Tiles with a map: the pixels among its rows follow each other.
__attribute__((noinline)) RIDGE_VT static void end_apart(const job *j, const ending *e) {
  const amx_tile *t = e->tile;
  if (is_nchw(j->a)) {
    for (int64_t half = 0; half < e->n; half += VL)
      end_turned(j->a, e->from + half, t->q, t->map, j->high, e->k + half, least(VL, e->n - half));
    return;
  }
  for (int64_t i = 0, end; i < j->high; i = end) {
    for (end = i + 1; end < j->high && t->map[i] >= 0 && t->map[end] >= 0; end++) {}
    if (t->map[i] >= 0) end_some(j, e, e->from + i * NR, t->q + t->map[i], end - i);
  }
}

// Ends the next tile of those that wait longest.
RIDGE_INLINE RIDGE_VT void end_tile(job *j) {
  ending *e = &j->now;
  if (e->tile->map || is_nchw(j->a)) end_apart(j, e);
  else end_some(j, e, e->from, e->tile->q, j->high);
  e->tile++, e->left--, e->from += 16 * NR;
}

#define AMX_ASK(p) __builtin_prefetch(p, 0, 3)
#define AMX_PANEL(b, p) TILE_LOAD_T1(b, p, 64)

// After the products of a step: the end of a tile of the block before with each of the last steps; of the tiles that wait `keep` stay for the steps behind
// this loop.
#define AMX_STEP_END(keep)                                                                              \
  b += STEP;                                                                                            \
  for (const char *to = ask + pace < ask_end ? ask + pace : ask_end; ask < to; ask += 64) AMX_ASK(ask); \
  if (last - at <= j->now.left - (keep)) end_tile(j)

#define AMX_BEGIN                                         \
  const int64_t *at = j->at, *const last = at + j->steps; \
  const char *ask = j->ask, *const ask_end = j->ask_end;  \
  const int64_t pace = j->pace;                           \
  const int64_t stride = j->stride;                       \
  me *const sums = j->save;                               \
  (void)stride;

// To columns v*VL .. of the rows of tile m.
#define AMX_SUMS(d, m, v) TILE_STORE(d, sums + (m) * 16 * NR + (v) * VL, NR * 4)
// Accumulator d in a block's first step: the block before's sums leave, this one's start.
#define AMX_FRESH(d, m, v)          \
  if (first) {                      \
    if (save) AMX_SUMS(d, m, v);    \
    TILE_ZERO(d);                   \
  }                                 \
  (void)0

// A step of m tiles times half a panel: one register for all pixels, one for the filters.
RIDGE_INLINE RIDGE_VT void step_half(job *j, const char *const *a, int64_t o, const char *b, int64_t stride, me *sums, const int m, const int first, const int save) {
  AMX_STATE
  (void)stride, (void)j, (void)sums;
  AMX_PANEL(6, b);
  AMX_PIXELS(4, a[0] + o);
  AMX_FRESH(0, 0, 0);
  AMX_DOT(0, 4, 6);
  if (m > 1) {
    AMX_PIXELS(4, a[1] + o);
    AMX_FRESH(1, 1, 0);
    AMX_DOT(1, 4, 6);
  }
  if (m > 2) {
    AMX_PIXELS(4, a[2] + o);
    AMX_FRESH(2, 2, 0);
    AMX_DOT(2, 4, 6);
  }
}

// A step of two tiles times a panel. few: the first tile's pixels are loaded twice, for one register less.
RIDGE_INLINE RIDGE_VT void step_pair(job *j, const char *a0, const char *a1, const char *b, int64_t stride, me *sums, const int few, const int first, const int save) {
  AMX_STATE
  (void)stride, (void)j, (void)sums;
  AMX_PANEL(6, b);
  AMX_PIXELS(4, a0);
  AMX_FRESH(0, 0, 0);
  AMX_DOT(0, 4, 6);
  if (few) {
    AMX_PIXELS(4, a1);
    AMX_FRESH(1, 1, 0);
    AMX_DOT(1, 4, 6);
    AMX_PANEL(6, b + STEP / 2);
    AMX_FRESH(3, 1, 1);
    AMX_DOT(3, 4, 6);
    AMX_PIXELS(4, a0);
  } else {
    AMX_PIXELS(5, a1);
    AMX_FRESH(1, 1, 0);
    AMX_DOT(1, 5, 6);
    AMX_PANEL(6, b + STEP / 2);
    AMX_FRESH(3, 1, 1);
    AMX_DOT(3, 5, 6);
  }
  AMX_FRESH(2, 0, 1);
  AMX_DOT(2, 4, 6);
}

// Stores the last block's sums where no block follows whose first step would.
__attribute__((noinline)) RIDGE_VT static void save_sums(job *j) {
  AMX_STATE
  me *const sums = j->save;
  (void)sums;
  const int64_t m = j->unsaved;
  j->unsaved = 0;
  if (m > 0) AMX_SUMS(0, 0, 0);
  if (m > 1) AMX_SUMS(1, 1, 0);
  if (m == PAIR) {
    AMX_SUMS(2, 0, 1);
    AMX_SUMS(3, 1, 1);
  } else if (m > 2) {
    AMX_SUMS(2, 2, 0);
  }
}

#define AMX_HALF(name, m)                                                                                             \
  __attribute__((noinline)) RIDGE_VT static void name(job *j, const amx_tile *t, const char *b, int64_t keep) {       \
    AMX_BEGIN                                                                                                         \
    const char *const a[3] = {t[0].base, m > 1 ? t[1].base : NULL, m > 2 ? t[2].base : NULL};                         \
    if (j->unsaved == m) step_half(j, a, *at, b, stride, sums, m, 1, 1);                                              \
    else step_half(j, a, *at, b, stride, sums, m, 1, 0);                                                              \
    AMX_STEP_END(keep);                                                                                               \
    for (at++; at < last; at++) {                                                                                     \
      step_half(j, a, *at, b, stride, sums, m, 0, 0);                                                                 \
      AMX_STEP_END(keep);                                                                                             \
    }                                                                                                                 \
  }
AMX_HALF(half_1, 1)
AMX_HALF(half_2, 2)
AMX_HALF(half_3, 3)

#define AMX_PAIR(name, few)                                                                        \
  __attribute__((noinline)) RIDGE_VT static void name(job *j, const amx_tile *t, const char *b) {  \
    AMX_BEGIN                                                                                      \
    const char *a0 = t[0].base, *a1 = t[1].base;                                                   \
    if (j->unsaved == PAIR) step_pair(j, a0 + *at, a1 + *at, b, stride, sums, few, 1, 1);          \
    else step_pair(j, a0 + *at, a1 + *at, b, stride, sums, few, 1, 0);                             \
    AMX_STEP_END(0);                                                                               \
    for (at++; at < last; at++) {                                                                  \
      step_pair(j, a0 + *at, a1 + *at, b, stride, sums, few, 0, 0);                                \
      AMX_STEP_END(0);                                                                             \
    }                                                                                              \
  }
AMX_PAIR(pair, 0)
AMX_PAIR(pair_few, 1)

// Half a panel: its sums go to `to`.
RIDGE_INLINE RIDGE_VT void run_half(job *j, const amx_tile *t, int64_t m, const char *b, int64_t keep, me *to) {
  if (j->unsaved != m) save_sums(j);
  (m == 3 ? half_3 : m == 2 ? half_2 : half_1)(j, t, b, keep);
  j->save = to, j->unsaved = m;
  j->ask += j->pace * j->steps;
}

// Tiles t[0] .. t[m-1] times the panel at b, whose n channels start at k (at bk in bias and scale).
RIDGE_INLINE RIDGE_VT void run_block(job *j, const amx_tile *t, int64_t m, const char *b, int64_t k, int64_t n, int64_t bk, int64_t ahead) {
  me *const sums = j->sums;
  if (j->most == 2 && m == 2) {
    if (j->unsaved != PAIR) save_sums(j);
    (j->few ? pair_few : pair)(j, t, b);
    j->save = sums, j->unsaved = PAIR;
    j->ask += j->pace * j->steps;
  } else {
    run_half(j, t, m, b, 2, sums);
    if (n > VL) run_half(j, t, m, b + STEP / 2, 0, sums + VL);
  }
  while (j->now.left > 0) end_tile(j); // of more tiles than steps
  j->now = (ending){t, m, k, n, bk, sums, ahead};
  j->sums = j->spare, j->spare = sums;
}

// Ends all blocks.
RIDGE_VT static void end_all(job *j) {
  save_sums(j);
  while (j->now.left > 0) end_tile(j);
}

#endif
