// Blocks of tiles on AMX: up to three tiles of 16 pixels times two of 16 channels, over the whole reduction
//
//   sums[m*16 + r, 32] = sum over steps i of tile m's row r at at[i], 64 bytes, times panel[i]
//
// and the end of the block before, some rows with each step: bias, residual, activation, rounding, the store of 32 channels of a pixel.
// Floor: a step of 3x2 tiles is six products of 16 cycles and seven loads of 8; the six stores of sums take 16 each, the end of 48 rows about 150
// cycles on other ports.
#ifndef RIDGE_CONV_AMX_TILE_H
#define RIDGE_CONV_AMX_TILE_H

#include "conv_amx_plan.h"

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

typedef struct job {
  const ridge_conv_args *a;
  const int64_t *at; // [steps]
  int64_t steps, stride, high; // high: rows of a tile
  const me *bias;      // [K], zeros where there is none
  const float *scale;
  me *sums, *spare;    // [3*16][NR]
  // What of the block before is not at its end yet.
  const amx_tile *tile;
  int64_t row, left;   // the next row of its tile, rows in all
  int64_t k, n;        // its first channel (in bias; in y), channels
  const me *from;
  int64_t bk;
#if defined(RIDGE_MODEL)
  uint32_t state[8][16][16];
#endif
} job;

#if defined(RIDGE_MODEL)
#define AMX_STATE uint32_t(*tiles)[16][16] = j->state;
#define AMX_DOT(d) model_dot(tiles[d], tiles[7], tiles[6], (int)j->high)
#define AMX_PIXELS(p) \
  for (int r_ = 0; r_ < (int)j->high; r_++) memcpy(tiles[7][r_], (const char *)(p) + r_ * j->stride, 64)
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
#define AMX_DOT(d) __asm__ volatile("tdpbssd %%tmm6, %%tmm7, %%tmm" #d ::)
#else
#define AMX_DOT(d) __asm__ volatile("tdpbf16ps %%tmm6, %%tmm7, %%tmm" #d ::)
#endif
#define AMX_PIXELS(p) TILE_LOAD(7, p, stride)
#endif

// One row of NR whole channels.
RIDGE_INLINE RIDGE_VT void end_row(const job *j, const me *sums, int64_t at) {
  const ridge_conv_args *a = j->a;
  mv low = plus(*(const mv *)sums, *(const mv *)(j->bias + j->bk)), high = plus(*(const mv *)(sums + VL), *(const mv *)(j->bias + j->bk + VL));
#if defined(CONV_INT8)
  if (a->scale) {
    const float from = ridge_requant_low(a->act);
    store_requantised((int8_t *)a->y + at, low, *(const ridge_vf *)(j->scale + j->bk), from);
    store_requantised((int8_t *)a->y + at + VL, high, *(const ridge_vf *)(j->scale + j->bk + VL), from);
    return;
  }
#endif
  if (a->residual) low = plus(low, load_out((const yt *)a->residual + at)), high = plus(high, load_out((const yt *)a->residual + at + VL));
#if defined(CONV_BF16)
  if (a->act == RIDGE_ACT_RELU) low = activate(low, RIDGE_ACT_RELU), high = activate(high, RIDGE_ACT_RELU);
#endif
#if defined(RIDGE_NARROW2)
  RIDGE_NARROW2((yt *)a->y + at, low, high);
#else
  store_out((yt *)a->y + at, low), store_out((yt *)a->y + at + VL, high);
#endif
}

// Incomplete panels, and activations that take long.
__attribute__((noinline)) RIDGE_VT static void end_row_slowly(const job *j, const me *sums, int64_t at) {
  int64_t l = 0;
  for (; l + VL <= j->n; l += VL) finish_channels(j->a, *(const mv *)(sums + l), j->k + l, at + l);
  for (; l < j->n; l++) finish_one(j->a, sums[l], j->k + l, at + l);
}

// Ends the next rows of the block before, at most `rows`.
RIDGE_INLINE RIDGE_VT void end_rows(job *j, int64_t rows) {
  const ridge_conv_args *a = j->a;
  if (rows > j->left) rows = j->left;
  if (rows <= 0) return;
  const int whole = j->n == NR && (a->act == RIDGE_ACT_NONE || a->act == RIDGE_ACT_RELU);
  const int64_t K = a->K;
  int64_t row = j->row;
  const amx_tile *t = j->tile;
  const me *sums = j->from;
  j->left -= rows;
  for (; rows > 0; rows--) {
    const int64_t r = t->map ? t->map[row] : row;
    if (r >= 0) {
      const int64_t at = (t->q + r) * K + j->k;
      if (whole) end_row(j, sums, at);
      else end_row_slowly(j, sums, at);
    }
    sums += NR;
    if (++row == j->high) row = 0, t++, sums += (16 - j->high) * NR;
  }
  j->row = row, j->tile = t, j->from = sums;
}

// What a block does for each step after its products.
#define AMX_STEP_END \
  end_rows(j, rows), b += STEP

#define AMX_BEGIN                                                              \
  AMX_STATE                                                                    \
  const int64_t *at = j->at, *const last = at + j->steps, rows = ceil_div(j->left, j->steps); \
  const int64_t stride = j->stride;                                            \
  (void)stride;

#define AMX_SUMS(d, m, v) TILE_STORE(d, j->sums + (m) * 16 * NR + (v) * VL, NR * 4)

__attribute__((noinline)) RIDGE_VT static void block_3(job *j, const amx_tile *t, const char *b) {
  AMX_BEGIN
  const char *a0 = t[0].base, *a1 = t[1].base, *a2 = t[2].base;
  TILE_ZERO(0);
  TILE_ZERO(1);
  TILE_ZERO(2);
  TILE_ZERO(3);
  TILE_ZERO(4);
  TILE_ZERO(5);
  for (; at < last; at++) {
    const int64_t o = *at;
    TILE_LOAD(6, b, 64);
    AMX_PIXELS(a0 + o);
    AMX_DOT(0);
    AMX_PIXELS(a1 + o);
    AMX_DOT(1);
    AMX_PIXELS(a2 + o);
    AMX_DOT(2);
    TILE_LOAD(6, b + 1024, 64);
    AMX_DOT(5);
    AMX_PIXELS(a0 + o);
    AMX_DOT(3);
    AMX_PIXELS(a1 + o);
    AMX_DOT(4);
    AMX_STEP_END;
  }
  end_rows(j, j->left);
  AMX_SUMS(0, 0, 0);
  AMX_SUMS(1, 1, 0);
  AMX_SUMS(2, 2, 0);
  AMX_SUMS(3, 0, 1);
  AMX_SUMS(4, 1, 1);
  AMX_SUMS(5, 2, 1);
}

__attribute__((noinline)) RIDGE_VT static void block_2(job *j, const amx_tile *t, const char *b) {
  AMX_BEGIN
  const char *a0 = t[0].base, *a1 = t[1].base;
  TILE_ZERO(0);
  TILE_ZERO(1);
  TILE_ZERO(3);
  TILE_ZERO(4);
  for (; at < last; at++) {
    const int64_t o = *at;
    TILE_LOAD(6, b, 64);
    AMX_PIXELS(a0 + o);
    AMX_DOT(0);
    AMX_PIXELS(a1 + o);
    AMX_DOT(1);
    TILE_LOAD(6, b + 1024, 64);
    AMX_DOT(4);
    AMX_PIXELS(a0 + o);
    AMX_DOT(3);
    AMX_STEP_END;
  }
  end_rows(j, j->left);
  AMX_SUMS(0, 0, 0);
  AMX_SUMS(1, 1, 0);
  AMX_SUMS(3, 0, 1);
  AMX_SUMS(4, 1, 1);
}

__attribute__((noinline)) RIDGE_VT static void block_1(job *j, const amx_tile *t, const char *b) {
  AMX_BEGIN
  const char *a0 = t[0].base;
  TILE_ZERO(0);
  TILE_ZERO(3);
  for (; at < last; at++) {
    TILE_LOAD(6, b, 64);
    AMX_PIXELS(a0 + *at);
    AMX_DOT(0);
    TILE_LOAD(6, b + 1024, 64);
    AMX_DOT(3);
    AMX_STEP_END;
  }
  end_rows(j, j->left);
  AMX_SUMS(0, 0, 0);
  AMX_SUMS(3, 0, 1);
}

// Tiles t[0] .. t[m-1] times the panel at b, whose n channels start at k (at bk in bias and scale).
RIDGE_INLINE RIDGE_VT void run_block(job *j, const amx_tile *t, int64_t m, const char *b, int64_t k, int64_t n, int64_t bk) {
  if (m == 3) block_3(j, t, b);
  else if (m == 2) block_2(j, t, b);
  else block_1(j, t, b);
  me *sums = j->sums;
  j->sums = j->spare, j->spare = sums;
  j->tile = t, j->row = 0, j->left = m * j->high, j->from = sums;
  j->k = k, j->n = n, j->bk = bk;
}

#endif
