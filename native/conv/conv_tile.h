// The register tile of the indirect convolution: mr pixels by nv vectors of channels,
//
//   sums[mr, nv*VL] (+)= sum over taps t and elements e of pixel[t][i][e] * panel[t*run + e, nv*VL]
//
// A pixel is read through its own pointer, one element at a time and broadcast, so the image is
// never unfolded; the panel is a block of filters turned to rows of NR = NV*VL channels.
// The tile's end is here too: bias, residual, ReLU and the store of NHWC rows, from registers.
//
// The includer defines RIDGE_MR and RIDGE_NV and what conv_vector.h asks for; int8 kernels also
// RIDGE_DOT2(acc, b, a) over vectors of int16 pairs; kernels with CONV_DOT RIDGE_DOT(acc, b, x) over units of two bf16 or
// of four bytes, signed in b (the panel) and unsigned in x.
// Floor on AVX2 (6x16): 12 FMA, 2 loads and 6 broadcasts for an element: 6 cycles at two FMA and two loads a
// cycle, 21 instructions, 15 of 16 registers. AVX-512 (8x32): 16 FMA, 10 loads, 8 cycles, 19 of
// 32 registers; eight pointers fit the general registers, twelve would not. NEON (6x16): 24 FMA,
// 29 of 32 registers.
#ifndef RIDGE_CONV_TILE_H
#define RIDGE_CONV_TILE_H

#include "conv_turn.h"

enum { NR = RIDGE_NV * RIDGE_VL, MR = RIDGE_MR };
#if defined(CONV_DOT) && defined(CONV_INT8)
enum { HEAD = 1 }; // rows before a panel: what sums start at
#else
enum { HEAD = 0 };
#endif

typedef me me_any __attribute__((aligned(2), may_alias)); // pairs of int16 lie at any even address

typedef struct tile {
  const char *const *pixel; // [taps][MR]
  int64_t taps, run;        // run: elements of a tap, from byte from on
  int64_t from;
  const me *panel; // [HEAD + taps*run][NR]
  me *sums;        // [mr][NR]
  int add;         // sums hold a part already
  int keep;        // leave the result in sums; else finish it
  const ridge_conv_args *a;
  int64_t next;  // from at to where the next tile writes
  int64_t k, at; // output channel and place in y of the first pixel's first channel
} tile;

// x in every lane. (0 + x would be an addition: it changes -0.)
RIDGE_INLINE RIDGE_VT mv splat(me x) {
#if RIDGE_VL == 4
  return (mv){x, x, x, x};
#elif RIDGE_VL == 8
  return (mv){x, x, x, x, x, x, x, x};
#else
  return (mv){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
#endif
}

RIDGE_INLINE RIDGE_VT mv multiply_add(mv sum, mv b, mv x) {
#if defined(CONV_DOT)
  return RIDGE_DOT(sum, b, x);
#elif defined(CONV_INT8)
  return RIDGE_DOT2(sum, b, x);
#else
  return sum + b * x;
#endif
}

// Elements a turn of the loop. A product of int8 pairs needs a register of its own: with the 12 sums, two
// vectors of the panel and the pixel that is all 16, and clang spills when it may look at several elements at once.
#if defined(CONV_INT8) && RIDGE_VL == 8
#define CONV_AT_ONCE 1
#else
#define CONV_AT_ONCE 4
#endif

RIDGE_INLINE RIDGE_VT void tile_body(const int mr, const int nv, const tile *t) {
  mv acc[RIDGE_MR][RIDGE_NV];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) acc[i][v] = (mv){0};
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv * HEAD; v++) acc[i][v] = (mv) * (const mv_any *)(t->panel + v * VL);
  }
  if (!t->keep) { // the lines that the next tile will write
#if defined(CONV_INT8)
    const int64_t size = t->a->scale ? 1 : sizeof(yt);
#else
    const int64_t size = sizeof(yt);
#endif
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) __builtin_prefetch((const char *)t->a->y + (t->at + t->next + i * t->a->K) * size, 1);
    if (t->a->residual) { // and those that this one adds
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) __builtin_prefetch((const char *)t->a->residual + (t->at + i * t->a->K) * (int64_t)sizeof(yt));
    }
  }
  const me *b = t->panel + HEAD * NR;
  const char *const *pixel = t->pixel;
  // Eight pixel pointers leave no register to compare with: there the count ends at 0.
  const int64_t run = t->run, from = t->from, first = RIDGE_MR > 6 ? -run : 0;
  for (int64_t taps = t->taps; taps > 0; taps--, pixel += MR) {
    const char *p[RIDGE_MR];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) p[i] = pixel[i] + from - first * (int64_t)sizeof(me);
    RIDGE_UNROLL(CONV_AT_ONCE)
    for (int64_t e = first; e < run + first; e++, b += NR) {
      mv bv[RIDGE_NV];
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) bv[v] = *(const mv_any *)(b + v * VL);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) {
        mv x = splat(((const me_any *)p[i])[e]);
        RIDGE_UNROLL_ALL
        for (int v = 0; v < nv; v++) acc[i][v] = multiply_add(acc[i][v], bv[v], x);
      }
    }
  }
  if (t->add) {
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) acc[i][v] = plus(acc[i][v], *(const mv_any *)(t->sums + i * NR + v * VL));
    }
  }
  if (t->keep) {
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) *(mv_any *)(t->sums + i * NR + v * VL) = acc[i][v];
    }
    return;
  }
  const ridge_conv_args *a = t->a;
  if (a->bias) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) {
      mv bias = load_out((const yt *)a->bias + t->k + v * VL);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) acc[i][v] = plus(acc[i][v], bias);
    }
  }
#if defined(CONV_INT8)
  if (a->scale) {
    const float low = ridge_requant_low(a->act), *scales = a->scale + t->k;
    int8_t *y = (int8_t *)a->y + t->at; // stores of bytes may change anything, so what they need is read first
    const int64_t K = a->K;
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) {
      ridge_vf scale = (ridge_vf) * (const ridge_vf_any *)(scales + v * VL);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) store_requantised(y + i * K + v * VL, acc[i][v], scale, low);
    }
    return;
  }
#endif
  if (a->residual) {
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++)
        acc[i][v] = plus(acc[i][v], load_out((const yt *)a->residual + t->at + i * a->K + v * VL));
    }
  }
#if !defined(CONV_INT8)
  if (a->act == RIDGE_ACT_RELU) {
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) acc[i][v] = activate(acc[i][v], RIDGE_ACT_RELU);
    }
  }
#endif
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) store_out((yt *)a->y + t->at + i * a->K + v * VL, acc[i][v]);
  }
}

#if defined(RIDGE_MODEL)
// A model needs the logic, not an unrolled instance of each size.
__attribute__((noinline)) static void run_tile(int64_t mr, int64_t nv, const tile *t) { tile_body((int)mr, (int)nv, t); }
#else
typedef void (*tile_fn)(const tile *);
#define TILE(mr, nv) \
  __attribute__((noinline)) RIDGE_VT static void tile_##mr##_##nv(const tile *t) { tile_body(mr, nv, t); }
#if RIDGE_NV == 2
#define TILE_ROW(mr) TILE(mr, 1) TILE(mr, 2)
#define TILE_NAMES(mr) {tile_##mr##_1, tile_##mr##_2}
#elif RIDGE_NV == 4
#define TILE_ROW(mr) TILE(mr, 1) TILE(mr, 2) TILE(mr, 3) TILE(mr, 4)
#define TILE_NAMES(mr) {tile_##mr##_1, tile_##mr##_2, tile_##mr##_3, tile_##mr##_4}
#endif
TILE_ROW(1) TILE_ROW(2) TILE_ROW(3) TILE_ROW(4) TILE_ROW(5) TILE_ROW(6)
#if RIDGE_MR > 6
TILE_ROW(7) TILE_ROW(8)
#endif
static const tile_fn tile_table[RIDGE_MR][RIDGE_NV] = {
    TILE_NAMES(1), TILE_NAMES(2), TILE_NAMES(3), TILE_NAMES(4), TILE_NAMES(5), TILE_NAMES(6),
#if RIDGE_MR > 6
    TILE_NAMES(7), TILE_NAMES(8),
#endif
};
RIDGE_INLINE void run_tile(int64_t mr, int64_t nv, const tile *t) { tile_table[mr - 1][nv - 1](t); }
#endif

#endif
