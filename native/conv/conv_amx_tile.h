// Blocks of tiles on AMX: up to three tiles of 16 pixels times two of 16 channels, over the whole reduction
//
//   sums[m*16 + r, 32] = sum over steps i of tile m's row r at at[i], 64 bytes, times panel[i]
//
// The sums leave the accumulators within the first step of the next block, each before the product that starts its accumulator anew, and meet their end
// (residual, activation, rounding, the store of 32 channels of a pixel) in the last steps of the block after that, eight rows at a time.
// Floor: a step of 3x2 tiles is six products of 16 cycles and seven loads of 8; a store of sums takes the front end 15. What each costs together:
// docs/kernels/conv.md, Granite Rapids.
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

// A block whose sums wait for their end.
typedef struct ending {
  const amx_tile *tile;
  int64_t row, left; // the next row of its tile (NCHW: half of its channels), rows in all
  int64_t k, n, bk;  // its first channel in y, channels, first channel in bias
  const me *from;
  int64_t ahead;     // bytes from a row's place in y to that of the next block's
} ending;

typedef struct job {
  const ridge_conv_args *a;
  const int64_t *at; // [steps]
  int64_t steps, stride, high; // high: rows of a tile
  ridge_conv_args rest; // a without the bias, which the sums start at
  const me *bias;      // of all panels, zeros beyond the channels
  const float *scale;
  int64_t unsaved;     // tiles of the last block, whose sums are still in the accumulators: they go to `sums`
  me *sums, *spare;    // [3*16][NR]
  const char *ask, *ask_end; // lines that are asked for meanwhile, `pace` bytes with a step
  int64_t pace;
  int far; // y comes from beyond L2: the next block's lines are asked for
  ending now, next;    // of the last block but one, of the last block
#if defined(RIDGE_MODEL)
  uint32_t state[8][16][16];
#endif
} job;

#if defined(RIDGE_MODEL)
#define AMX_STATE uint32_t(*tiles)[16][16] = j->state;
#define AMX_DOT_OF(d, x) model_dot(tiles[d], tiles[x], tiles[6], (int)j->high)
#define AMX_PIXELS_TO(x, p) \
  for (int r_ = 0; r_ < (int)j->high; r_++) memcpy(tiles[x][r_], (const char *)(p) + r_ * j->stride, 64)
static void model_dot(uint32_t d[16][16], uint32_t a[16][16], uint32_t b[16][16], int rows) {
  for (int m = 0; m < rows; m++)
    for (int k = 0; k < 16; k++)
      for (int n = 0; n < 16; n++) {
#if defined(CONV_INT8)
        for (int q = 0; q < 32; q += 8) d[m][n] += (uint32_t)((int8_t)(a[m][k] >> q) * (int8_t)(b[k][n] >> q));
#else
        float s = ridge_u32_as_float(d[m][n]);
        s += ridge_bf16_to_float((uint16_t)a[m][k]) * ridge_bf16_to_float((uint16_t)b[k][n]);
        s += ridge_bf16_to_float((uint16_t)(a[m][k] >> 16)) * ridge_bf16_to_float((uint16_t)(b[k][n] >> 16));
        d[m][n] = ridge_float_as_u32(s);
#endif
      }
}
#else
#define AMX_STATE
#if defined(CONV_INT8)
#define AMX_DOT_OF(d, x) __asm__ volatile("tdpbssd %%tmm6, %%tmm" #x ", %%tmm" #d ::)
#else
#define AMX_DOT_OF(d, x) __asm__ volatile("tdpbf16ps %%tmm6, %%tmm" #x ", %%tmm" #d ::)
#endif
#define AMX_PIXELS_TO(x, p) TILE_LOAD(x, p, stride)
#endif
#define AMX_DOT(d) AMX_DOT_OF(d, 7)
#define AMX_PIXELS(p) AMX_PIXELS_TO(7, p)

enum { END_RESIDUAL = 1, END_RELU = 2, END_BYTES = 4 };

// Rows of NR whole channels whose pixels follow each other.
RIDGE_INLINE RIDGE_VT void end_run(const job *j, int64_t bk, const me *sums, int64_t at, int64_t rows, const int end) {
  const ridge_conv_args *a = j->a;
  const int64_t K = a->K, ahead = j->now.ahead;
  const int far = j->far;
  (void)ahead, (void)far;
#if defined(CONV_INT8)
  if (end & END_BYTES) {
    const ridge_vf scale0 = *(const ridge_vf *)(j->scale + bk), scale1 = *(const ridge_vf *)(j->scale + bk + VL);
    int8_t *y = (int8_t *)a->y + at;
    RIDGE_UNROLL(1)
    for (int64_t r = 0; r < rows; r++, sums += NR, y += K) {
      store_requantised2(y, *(const mv *)sums, *(const mv *)(sums + VL), scale0, scale1, end & END_RELU);
      if (far && bk % (2 * NR) == 0) __builtin_prefetch((const char *)y + 64, 1);
    }
    return;
  }
#endif
  yt *y = (yt *)a->y + at;
  const yt *residual = (const yt *)a->residual + (end & END_RESIDUAL ? at : 0);
  RIDGE_UNROLL(1)
  for (int64_t r = 0; r < rows; r++, sums += NR, y += K) {
    mv low = *(const mv *)sums, high = *(const mv *)(sums + VL);
    if (end & END_RESIDUAL) low = plus(low, load_out(residual)), high = plus(high, load_out(residual + VL)), residual += K;
#if defined(CONV_BF16)
    if (end & END_RELU) low = activate(low, RIDGE_ACT_RELU), high = activate(high, RIDGE_ACT_RELU);
#endif
#if defined(RIDGE_NARROW2)
    RIDGE_NARROW2(y, low, high);
    if (far) __builtin_prefetch((const char *)y + ahead, 1);
#else
    store_out(y, low), store_out(y + VL, high);
    if (far) __builtin_prefetch((const char *)y + ahead, 1), __builtin_prefetch((const char *)(y + VL) + ahead, 1);
#endif
  }
}

// Incomplete panels, and activations that take long.
__attribute__((noinline)) RIDGE_VT static void end_slowly(const job *j, const me *sums, int64_t at, int64_t rows) {
  const ridge_conv_args *a = &j->rest;
  const int64_t n = j->now.n, k = j->now.k;
  for (; rows > 0; rows--, sums += NR, at += a->K) {
    int64_t l = 0;
    for (; l + VL <= n; l += VL) finish_channels(a, *(const mv *)(sums + l), k + l, at + l);
    for (; l < n; l++) finish_one(a, sums[l], k + l, at + l);
  }
}

RIDGE_INLINE RIDGE_VT void end_some(const job *j, const me *sums, int64_t at, int64_t rows) {
  const ridge_conv_args *a = j->a;
  const int64_t bk = j->now.bk;
  if (j->now.n < NR || (a->act != RIDGE_ACT_NONE && a->act != RIDGE_ACT_RELU)) {
    end_slowly(j, sums, at, rows);
    return;
  }
#if defined(CONV_INT8)
  if (!a->scale) {
    if (a->residual) end_run(j, bk, sums, at, rows, END_RESIDUAL);
    else end_run(j, bk, sums, at, rows, 0);
  } else if (a->act == RIDGE_ACT_RELU) {
    end_run(j, bk, sums, at, rows, END_BYTES | END_RELU);
  } else {
    end_run(j, bk, sums, at, rows, END_BYTES);
  }
#else
  if (a->act == RIDGE_ACT_RELU) {
    if (a->residual) end_run(j, bk, sums, at, rows, END_RELU | END_RESIDUAL);
    else end_run(j, bk, sums, at, rows, END_RELU);
  } else if (a->residual) {
    end_run(j, bk, sums, at, rows, END_RESIDUAL);
  } else {
    end_run(j, bk, sums, at, rows, 0);
  }
#endif
}

// NCHW: ends halves of tiles, 16 channels each, of the last block but one; the two count as the tile's rows.
RIDGE_VT static void end_halves(job *j, int64_t rows) {
  ending *e = &j->now;
  while (rows > 0 && e->left > 0) {
    const int64_t half = e->row, n = half ? j->high - j->high / 2 : j->high / 2, channels = least(VL, e->n - half * VL);
    if (channels > 0) end_turned(&j->rest, e->from + half * VL, e->tile->q, e->tile->map, j->high, e->k + half * VL, channels);
    rows -= n, e->left -= n, e->row = !half;
    if (half) e->tile++, e->from += 16 * NR;
  }
}

// Ends the next rows of the last block but one, at most `rows`.
__attribute__((noinline)) RIDGE_VT static void end_rows(job *j, int64_t rows) {
  ending *e = &j->now;
  const int64_t K = j->a->K;
  if (is_nchw(j->a)) {
    end_halves(j, rows);
    return;
  }
  if (rows > e->left) rows = e->left;
  e->left -= rows;
  while (rows > 0) {
    const amx_tile *t = e->tile;
    const int64_t n = least(rows, j->high - e->row);
    if (t->map) {
      for (int64_t i = 0; i < n; i++)
        if (t->map[e->row + i] >= 0) end_some(j, e->from + i * NR, (t->q + t->map[e->row + i]) * K + e->k, 1);
    } else {
      end_some(j, e->from, (t->q + e->row) * K + e->k, n);
    }
    rows -= n, e->row += n, e->from += n * NR;
    if (e->row == j->high) e->row = 0, e->tile++, e->from += (16 - j->high) * NR;
  }
}

#define AMX_ASK(p) __builtin_prefetch(p, 0, 3)
#define AMX_PANEL(p) TILE_LOAD_T1(6, p, 64)

// After the products of a step: the end of some rows, in the last steps, so that the lines that the block's sums will be stored to are in L1 then.
#define AMX_STEP_END                                                                                              \
  b += STEP;                                                                                                      \
  for (const char *to = ask + pace < ask_end ? ask + pace : ask_end; ask < to; ask += 64) AMX_ASK(ask);           \
  if (j->now.left > (last - at - 1) * rows) end_rows(j, rows)

#define AMX_BEGIN                                                              \
  const int64_t *at = j->at, *const last = at + j->steps, each = ceil_div(j->now.left, j->steps), rows = each < 8 ? 8 : each; \
  const char *ask = j->ask, *const ask_end = j->ask_end;                       \
  const int64_t pace = j->pace;                                                \
  const int64_t stride = j->stride;                                            \
  me *const sums = j->sums;                                                    \
  (void)stride;

#define AMX_SUMS(d, m, v) TILE_STORE(d, sums + (m) * 16 * NR + (v) * VL, NR * 4)
// Accumulator d in a block's first step: the block before's sums leave, this one's start, at the bias of its channels.
#define AMX_FRESH(d, m, v)                          \
  if (first) {                                      \
    if (save) AMX_SUMS(d, m, v);                    \
    if (start) TILE_LOAD(d, start + (v) * VL, 0);   \
    else TILE_ZERO(d);                              \
  }                                                 \
  (void)0

RIDGE_INLINE RIDGE_VT void step_3(job *j, const char *a0, const char *a1, const char *a2, const char *b, int64_t stride, me *sums, const me *start, const int first, const int save) {
  AMX_STATE
  (void)stride, (void)j, (void)start;
  AMX_PANEL(b);
  AMX_PIXELS(a0);
  AMX_FRESH(0, 0, 0);
  AMX_DOT(0);
  AMX_PIXELS(a1);
  AMX_FRESH(1, 1, 0);
  AMX_DOT(1);
  AMX_PIXELS(a2);
  AMX_FRESH(2, 2, 0);
  AMX_DOT(2);
  AMX_PANEL(b + 1024);
  AMX_FRESH(5, 2, 1);
  AMX_DOT(5);
  AMX_PIXELS(a0);
  AMX_FRESH(3, 0, 1);
  AMX_DOT(3);
  AMX_PIXELS(a1);
  AMX_FRESH(4, 1, 1);
  AMX_DOT(4);
}

RIDGE_INLINE RIDGE_VT void step_2(job *j, const char *a0, const char *a1, const char *b, int64_t stride, me *sums, const me *start, const int first, const int save) {
  AMX_STATE
  (void)stride, (void)j, (void)start;
  AMX_PANEL(b);
  AMX_PIXELS_TO(2, a0);
  AMX_FRESH(0, 0, 0);
  AMX_DOT_OF(0, 2);
  AMX_PIXELS(a1);
  AMX_FRESH(1, 1, 0);
  AMX_DOT(1);
  AMX_PANEL(b + 1024);
  AMX_FRESH(4, 1, 1);
  AMX_DOT(4);
  AMX_FRESH(3, 0, 1);
  AMX_DOT_OF(3, 2);
}

RIDGE_INLINE RIDGE_VT void step_1(job *j, const char *a0, const char *b, int64_t stride, me *sums, const me *start, const int first, const int save) {
  AMX_STATE
  (void)stride, (void)j, (void)start;
  AMX_PANEL(b);
  AMX_PIXELS(a0);
  AMX_FRESH(0, 0, 0);
  AMX_DOT(0);
  AMX_PANEL(b + 1024);
  AMX_FRESH(3, 0, 1);
  AMX_DOT(3);
}

// Stores the last block's sums where no block follows whose first step would.
__attribute__((noinline)) RIDGE_VT static void save_sums(job *j) {
  AMX_STATE
  me *const sums = j->sums;
  (void)sums;
  const int64_t m = j->unsaved;
  j->unsaved = 0;
  if (m > 0) {
    AMX_SUMS(0, 0, 0);
    AMX_SUMS(3, 0, 1);
  }
  if (m > 1) {
    AMX_SUMS(1, 1, 0);
    AMX_SUMS(4, 1, 1);
  }
  if (m > 2) {
    AMX_SUMS(2, 2, 0);
    AMX_SUMS(5, 2, 1);
  }
}

__attribute__((noinline)) RIDGE_VT static void block_3(job *j, const amx_tile *t, const char *b, const me *start) {
  AMX_BEGIN
  const char *a0 = t[0].base, *a1 = t[1].base, *a2 = t[2].base;
  if (j->unsaved) step_3(j, a0 + *at, a1 + *at, a2 + *at, b, stride, sums, start, 1, 1);
  else step_3(j, a0 + *at, a1 + *at, a2 + *at, b, stride, sums, start, 1, 0);
  AMX_STEP_END;
  for (at++; at < last; at++) {
    const int64_t o = *at;
    step_3(j, a0 + o, a1 + o, a2 + o, b, stride, sums, NULL, 0, 0);
    AMX_STEP_END;
  }
}

__attribute__((noinline)) RIDGE_VT static void block_2(job *j, const amx_tile *t, const char *b, const me *start) {
  AMX_BEGIN
  const char *a0 = t[0].base, *a1 = t[1].base;
  if (j->unsaved) step_2(j, a0 + *at, a1 + *at, b, stride, sums, start, 1, 1);
  else step_2(j, a0 + *at, a1 + *at, b, stride, sums, start, 1, 0);
  AMX_STEP_END;
  for (at++; at < last; at++) {
    const int64_t o = *at;
    step_2(j, a0 + o, a1 + o, b, stride, sums, NULL, 0, 0);
    AMX_STEP_END;
  }
}

__attribute__((noinline)) RIDGE_VT static void block_1(job *j, const amx_tile *t, const char *b, const me *start) {
  AMX_BEGIN
  const char *a0 = t[0].base;
  if (j->unsaved) step_1(j, a0 + *at, b, stride, sums, start, 1, 1);
  else step_1(j, a0 + *at, b, stride, sums, start, 1, 0);
  AMX_STEP_END;
  for (at++; at < last; at++) {
    step_1(j, a0 + *at, b, stride, sums, NULL, 0, 0);
    AMX_STEP_END;
  }
}

// Tiles t[0] .. t[m-1] times the panel at b, whose n channels start at k (at bk in bias and scale).
RIDGE_INLINE RIDGE_VT void run_block(job *j, const amx_tile *t, int64_t m, const char *b, int64_t k, int64_t n, int64_t bk, int64_t ahead) {
  if (j->unsaved != m) save_sums(j);
  const me *start = j->a->bias ? j->bias + bk : NULL;
  if (m == 3) block_3(j, t, b, start);
  else if (m == 2) block_2(j, t, b, start);
  else block_1(j, t, b, start);
  j->ask += j->pace * j->steps;
  // The block before is in j->sums; its end, two blocks after its products, is next. This one's sums will go where the one before that was.
  j->now = j->next;
  me *sums = j->sums;
  j->sums = j->spare, j->spare = sums;
  j->next = (ending){t, 0, m * j->high, k, n, bk, j->sums, ahead};
  j->unsaved = m;
}

// Ends all blocks.
RIDGE_VT static void end_all(job *j) {
  save_sums(j);
  end_rows(j, j->now.left);
  j->now = j->next, j->next.left = 0;
  end_rows(j, j->now.left);
}

#endif
