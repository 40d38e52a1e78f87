// The register tile of the indirect convolution: mr pixels by nv vectors of channels,
//
//   sums[mr, nv*VL] (+)= sum over taps t and elements e of pixel[t][i][e] * panel[t*run + e, nv*VL]
//
// A pixel is read through its own pointer, one element at a time and broadcast, so the image is
// never unfolded; the panel is a block of filters turned to rows of NR = NV*VL channels.
// The tile's end is here too: bias, residual, ReLU and the store of NHWC rows, from registers.
//
// A panel of fewer than NV vectors has rows of so many; of one and two, tiles take up to RIDGE_WIDE pixels where registers allow it: an element of 12 pixels by one has
// 12 multiply-adds and 13 loads, by two 24 and 14.
//
// The includer defines RIDGE_MR and RIDGE_NV and what conv_vector.h asks for; CONV_MAC, an AVX-512 instruction that multiplies and adds, where the
// tile needs all registers; RIDGE_NARROW2(p, low, high), where one instruction rounds two vectors to bf16; CONV_EDGES where tiles leave out taps, CONV_FOURS where they take elements by four, CONV_HALVES where taps may end within a unit; int8 kernels also
// RIDGE_DOT2(acc, b, a) over vectors of int16 pairs; kernels with CONV_DOT RIDGE_DOT(acc, b, x) over units of two bf16 or
// of four bytes, signed in b (the panel) and unsigned in x.
// Floor on AVX2 (6x16): 12 FMA, 2 loads and 6 broadcasts for an element: 6 cycles at two FMA and two loads a
// cycle, 21 instructions, 15 of 16 registers. AVX-512 (7x64): 28 FMA, 17 loads, 14 cycles of Zen 5 (28 of Zen 4, which has 28 loads in them), all
// 32 registers: 28 sums, three vectors of the panel, the pixel; the panel's fourth vector is read by its multiplications, which are written as
// instructions in their order, for compilers spilled (clang 0.75 of the rate). Seven pixels divide the rows of the usual images (7 to 112), so
// that a tile lies within a row and knows which of its taps lie outside the image (CONV_EDGES): those are left out, 19 % of a 3x3 kernel's at 7x7,
// 9 % at 14x14. NEON (6x16): 24 FMA, 29 of 32 registers.
// Around the 28 multiply-adds of an element stand, on AVX-512: 7 broadcasts, 3 loads, a line asked for ahead and 4 instructions of the loop. That alone
// runs at 28.05 cycles of Zen 4 (panel in L2); a tile's end takes 50 cycles more in bf16 with stores of 32 bytes, 27 with RIDGE_NARROW2's of 64, all behind the tile; less pixel by pixel (tile_rows).
#ifndef RIDGE_CONV_TILE_H
#define RIDGE_CONV_TILE_H

#include "conv_mac.h"
#include "conv_masks.h"
#include "conv_turn.h"

#ifndef RIDGE_WIDE
#define RIDGE_WIDE RIDGE_MR // pixels of a tile of one or two vectors
#endif
enum { NR = RIDGE_NV * RIDGE_VL, MR = RIDGE_MR };
#if defined(CONV_FOURS)
enum { FOURS = 1 }; // tiles that ask for the next one's pixels take four elements at once
#else
enum { FOURS = 0 };
#endif
#if defined(CONV_MAC)
enum { ASKS = 1 }; // tiles ask for what the next one will read and write
#else
enum { ASKS = 0 };
#endif
#if defined(CONV_DOT) && defined(CONV_INT8)
enum { HEAD = 1 }; // rows before a panel: what sums start at
#else
enum { HEAD = 0 };
#endif

typedef me me_any __attribute__((aligned(1), may_alias)); // pairs of int16 lie at any even address, units of a stem's bytes at any

typedef struct tile {
  const char *const *pixel; // [taps][advance], or so many where each tap lies `pitch` bytes after the one before
  int64_t pitch, advance;   // from a tap to the next: of its pixels, of the pointers; one of them is 0
  const char *edge;         // [taps], what of a tap lies outside the image (CONV_INSIDE ...); NULL: nothing
  int64_t taps, run;        // run: elements of a tap, from element `from` on
  const char *zero;         // where taps outside the image lie; NULL: there are none, or they are multiplied
  int64_t half;             // 1: the last element of a tap is half a unit
  int64_t from;
  const me *panel; // [HEAD + taps*run][nv*VL]
  me *sums;        // [mr][NR]
  int64_t pixels;  // CONV_FEW: of the tile
  int add;         // sums hold a part already
  int keep;        // leave the result in sums; else finish it
  int64_t tail;    // CONV_MASKS: channels of the panel's last vector, if it is not whole
  const ridge_conv_args *a;
  int64_t next;  // from at to where the next tile writes
  int far;       // y comes from beyond L2: the next tile's lines are asked for
  const char *ahead; // what is asked for meanwhile: with each element the line that lies `pace` bytes after the one before
  int64_t pace;
  int64_t panels, down; // CONV_TWOS: how many panels that follow each other the tile goes over, or tiles `down` bytes apart; with sums 1
  int64_t tiles;        // CONV_EVEN: panels as above, and so many tiles `down` bytes apart
  int64_t k, at; // output channel and place in y of the first pixel's first channel
} tile;

enum { EDGED = 3 }; // vectors from which on tiles of all pixels know their edges
// Of a tap of a tile: all its pixels are in the image, none is, the first one or the last one alone is outside. (Others: zeros are multiplied.)
enum { CONV_INSIDE, CONV_NONE, CONV_FIRST, CONV_LAST };

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

// Elements a turn of the loop. A product of int8 pairs needs a register of its own: with the 12 sums, two
// vectors of the panel and the pixel that is all 16, and clang spills when it may look at several elements at once. Where an element has 28
// multiply-adds more than two gain nothing.
#if defined(CONV_INT8) && RIDGE_VL == 8
#define CONV_AT_ONCE 1
#elif defined(CONV_MAC)
#define CONV_AT_ONCE 2
#else
#define CONV_AT_ONCE 4
#endif

// One element of pixels lo .. hi-1 times one row of the panel. half: the second half of a unit is another pixel's and counts as 0, for it could
// be infinite.
RIDGE_INLINE RIDGE_VT void tile_element(const int lo, const int hi, const int nv, const char *const p[RIDGE_WIDE], int64_t e, const me *b,
                                        const int half, mv acc[RIDGE_WIDE][RIDGE_NV]) {
  mv bv[RIDGE_NV];
#if defined(RIDGE_MAC_MEMORY)
  if (RIDGE_MR * nv > 26) { // all 32 registers: the panel's last vector comes from memory, and in the order written
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv - 1; v++) RIDGE_BRING(bv[v], *(const mv_any *)(b + v * VL));
    RIDGE_UNROLL_ALL
    for (int i = lo; i < hi; i++) {
      mv x;
      RIDGE_SPREAD(x, ((const me_any *)p[i])[e]);
      if (half) RIDGE_LOWER_HALF(x);
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv - 1; v++) RIDGE_MAC_REGISTER(acc[i][v], bv[v], x);
      RIDGE_MAC_MEMORY(acc[i][nv - 1], *(const mv_any *)(b + (nv - 1) * VL), x);
    }
    return;
  }
#endif
  RIDGE_UNROLL_ALL
  for (int v = 0; v < nv; v++) bv[v] = *(const mv_any *)(b + v * VL);
  RIDGE_UNROLL_ALL
  for (int i = lo; i < hi; i++) {
    mv x = splat(((const me_any *)p[i])[e]);
    if (half) x = (mv)((ridge_vi)x & 0xffff);
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) acc[i][v] = multiply_add(acc[i][v], bv[v], x);
  }
}

#if defined(RIDGE_MAC_SPREAD)
#define CONV_MOVED
// Elements at once times their rows of the panel, the pixels' pointers moved on: fewer counters around the multiply-adds (clang 37 instructions for 24, gcc 39, else 39 to 44),
// and addresses without an index, with which a multiply-add that reads memory, as those of one vector do, would leave the front of the core as two operations.
RIDGE_INLINE RIDGE_VT const me *tile_elements(const int mr, const int nv, const int elements, const char *p[RIDGE_WIDE], const me *b, mv acc[RIDGE_WIDE][RIDGE_NV]) {
  RIDGE_UNROLL_ALL
  for (int u = 0; u < elements; u++) {
    mv bv[RIDGE_NV], x;
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) RIDGE_BRING(bv[v], *(const mv_any *)(b + (u * nv + v) * VL));
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      const me_any *factor = (const me_any *)p[i] + u;
      if (nv == 1) {
        RIDGE_MAC_SPREAD(acc[i][0], bv[0], *factor);
        continue;
      }
      RIDGE_SPREAD(x, *factor);
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) RIDGE_MAC_REGISTER(acc[i][v], bv[v], x);
    }
  }
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    p[i] += elements * sizeof(me);
    __asm__("" : "+r"(p[i]));
  }
  return b + elements * nv * VL;
}
#endif

// One tap of pixels lo .. hi-1, `offset` bytes after where they point: returns where the panel goes on.
RIDGE_INLINE RIDGE_VT const me *tile_tap(const int lo, const int hi, const int nv, const char *const *pixel, int64_t offset, int64_t run, const me *b,
                                         const int64_t half, const int asks, const char *ahead, const int64_t pace, mv acc[RIDGE_WIDE][RIDGE_NV]) {
  const char *p[RIDGE_WIDE];
#if defined(CONV_MOVED)
  if (nv == 1 || (asks && FOURS)) {
    RIDGE_UNROLL_ALL
    for (int i = 0; i < hi; i++) p[i] = pixel[i] + offset;
    int64_t n = run;
    for (; n >= 4; n -= 4) {
      if (asks) {
        RIDGE_UNROLL_ALL
        for (int j = 0; j < 4; j += nv == 1 ? 1 : 2) __builtin_prefetch(ahead + j * pace); // four elements of 12 pixels are three lines, of six 1.5
        ahead += 4 * pace;
        if (nv == 1) __asm__ volatile("" : "+m"(ahead)); // tiles of 12 pixels have no register for it
        else __asm__ volatile("" : "+r"(ahead));
      }
      b = tile_elements(hi, nv, 4, p, b, acc);
      __asm__ volatile("" : "+r"(n), "+r"(b));
    }
    for (; n > 0; n--) b = tile_elements(hi, nv, 1, p, b, acc);
#if defined(CONV_HALVES)
    if (half) tile_element(0, hi, nv, p, 0, b, 1, acc), b += nv * VL;
#endif
    return b;
  }
#endif
  // Seven or eight pixel pointers leave no register to compare with: there the count ends at 0. Empty instructions hide it, and the pointers,
  // from compilers that would make as many of their own, which move.
  const int64_t first = RIDGE_MR > 6 || hi > 6 ? -run : 0;
  RIDGE_UNROLL_ALL
  for (int i = lo; i < hi; i++) p[i] = pixel[i] + offset - first * (int64_t)sizeof(me);
  int64_t e = first;
  if (asks) {
    RIDGE_UNROLL_ALL
    for (int i = lo; i < hi; i++) __asm__("" : "+r"(p[i]));
    while (e) {
      __builtin_prefetch(ahead);
      tile_element(lo, hi, nv, p, e, b, 0, acc);
      b += nv * VL, ahead += pace;
      __asm__ volatile("" : "+r"(e), "+r"(b), "+r"(ahead));
      e++;
    }
  } else {
    RIDGE_UNROLL_ALL
    for (int i = lo; i < hi && hi > RIDGE_MR; i++) __asm__("" : "+r"(p[i]));
    RIDGE_UNROLL(CONV_AT_ONCE)
    for (; e < run + first; e++, b += nv * VL) tile_element(lo, hi, nv, p, e, b, 0, acc);
  }
#if defined(CONV_HALVES)
  if (half) tile_element(lo, hi, nv, p, run + first, b, 1, acc), b += nv * VL;
#endif
  return b;
}

// Whether a tap of all mr pixels lies outside the image.
RIDGE_INLINE int outside(const char *zero, int64_t mr, const char *const *pixel) {
  int64_t i = 0;
  if (pixel[0] != zero || pixel[mr - 1] != zero) return 0;
  while (i < mr && pixel[i] == zero) i++;
  return i == mr;
}

// One pixel's sums to y, from register: neighbouring vectors of nv.
RIDGE_INLINE RIDGE_VT void store_pixel(yt *y, const int nv, const mv acc[RIDGE_NV]) {
#if defined(RIDGE_NARROW2)
  RIDGE_UNROLL_ALL
  for (int v = 0; v < nv / 2 * 2; v += 2) RIDGE_NARROW2(y + v * VL, acc[v], acc[v + 1]);
  if (nv % 2) store_out(y + (nv - 1) * VL, acc[nv - 1]);
#else
  RIDGE_UNROLL_ALL
  for (int v = 0; v < nv; v++) store_out(y + v * VL, acc[v]);
#endif
}

#if defined(CONV_FP32) && RIDGE_VL == 8 && defined(__x86_64__) && !defined(RIDGE_MODEL)
#include "conv_twos.h"
#endif

#if defined(CONV_FOURS) && !defined(RIDGE_MODEL)
#include "conv_even.h"
#endif

#include "conv_tile_end.h"

// edges: the tile has some.
RIDGE_INLINE RIDGE_VT void tile_body(const int mr, const int nv, const int edges, const tile *t) {
#if defined(CONV_TWOS)
  if (nv == RIDGE_NV && !t->keep && !t->half && t->run >= TWOS_ELEMENTS && t->taps > 0) {
    twos_tiles(mr, t);
    return;
  }
#endif
  mv acc[RIDGE_WIDE][RIDGE_NV];
#if defined(CONV_ROWS)
  const int rows = mr == RIDGE_MR && nv == RIDGE_NV && !edges && !t->keep && !t->tail && !t->half && t->run >= 2 && t->taps > 0;
#else
  const int rows = 0;
#endif
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
    if (t->far) {
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) {
        const char *y = (const char *)t->a->y + (t->at + t->next + i * t->a->K) * size;
        __builtin_prefetch(y, 1);
        RIDGE_UNROLL_ALL
        for (int64_t line = 64; ASKS && line < nv * VL * (int64_t)sizeof(yt); line += 64)
          if (line < nv * VL * size) __builtin_prefetch(y + line, 1);
      }
    }
    if (t->a->residual) { // and those that this one adds
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) __builtin_prefetch((const char *)t->a->residual + (t->at + i * t->a->K) * (int64_t)sizeof(yt));
    }
  }
  const me *b = t->panel + HEAD * nv * VL;
  const char *const *pixel = t->pixel;
  const int64_t half = t->half, run = t->run - half;
  int64_t from = t->from * (int64_t)sizeof(me);
  if (edges) {
    for (int64_t tap = 0; tap < t->taps; tap++, pixel += MR) {
      const int edge = t->edge[tap];
      if (edge == CONV_INSIDE) b = tile_tap(0, mr, nv, pixel, from, t->run, b, 0, 0, NULL, 0, acc);
      else if (edge == CONV_FIRST) b = tile_tap(1, mr, nv, pixel, from, t->run, b, 0, 0, NULL, 0, acc);
      else if (edge == CONV_LAST) b = tile_tap(0, mr - 1, nv, pixel, from, t->run, b, 0, 0, NULL, 0, acc);
      else b += t->run * nv * VL;
    }
  } else {
    for (int64_t taps = t->taps - rows; taps > 0; taps--, pixel += t->advance, from += t->pitch) {
      if (nv < EDGED && t->zero && outside(t->zero, mr, pixel)) b += run * nv * VL;
      else b = tile_tap(0, mr, nv, pixel, from, run, b, half, ASKS && (nv > 1 ? mr <= RIDGE_MR : t->pace > 0), t->ahead, t->pace, acc);
    }
#if defined(CONV_ROWS)
    if (rows) {
      tile_rows(t, pixel, from, run, b, acc);
      return;
    }
#endif
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
#if defined(CONV_MASKS)
  if (t->tail) {
    tile_tail(mr, nv, t, acc);
    return;
  }
#endif
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
#if RIDGE_VL == 16
    if (nv == 4) {
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) store_requantised4(y + i * K, acc[i], scales, low == 0);
      return;
    }
#endif
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
  yt *y = (yt *)a->y + t->at; // read before the stores, which may change anything
  const int64_t K = a->K;
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    store_pixel(y + i * K, nv, acc[i]);
  }
}

#if defined(RIDGE_MODEL)
// A model needs the logic, not an unrolled instance of each size.
__attribute__((noinline, unused)) static void run_tile(int64_t mr, int64_t nv, const tile *t) { tile_body((int)mr, (int)nv, t->edge && mr == MR && nv >= EDGED, t); }
#else
typedef void (*tile_fn)(const tile *);
#define TILE(mr, nv) \
  __attribute__((noinline)) RIDGE_VT static void tile_##mr##_##nv(const tile *t) { tile_body(mr, nv, 0, t); }
#if RIDGE_NV == 2
#define TILE_ROW(mr) TILE(mr, 1) TILE(mr, 2)
#define TILE_NAMES(mr) {tile_##mr##_1, tile_##mr##_2}
#elif RIDGE_NV == 4
#define TILE_ROW(mr) TILE(mr, 1) TILE(mr, 2) TILE(mr, 3) TILE(mr, 4)
#define TILE_NAMES(mr) {tile_##mr##_1, tile_##mr##_2, tile_##mr##_3, tile_##mr##_4}
#endif
TILE_ROW(1) TILE_ROW(2) TILE_ROW(3) TILE_ROW(4) TILE_ROW(5) TILE_ROW(6)
#if RIDGE_MR > 6
TILE_ROW(7)
#endif
#if RIDGE_MR > 7
TILE_ROW(8)
#endif
#if RIDGE_WIDE > RIDGE_MR
#define TILE_WIDE(mr) TILE(mr, 1) TILE(mr, 2)
#define TILE_WIDE_NAMES(mr) {tile_##mr##_1, tile_##mr##_2}
#if RIDGE_MR < 7
TILE_WIDE(7)
#endif
TILE_WIDE(8) TILE_WIDE(9) TILE_WIDE(10) TILE_WIDE(11) TILE_WIDE(12)
#endif
static const tile_fn tile_table[RIDGE_WIDE][RIDGE_NV] = {
    TILE_NAMES(1), TILE_NAMES(2), TILE_NAMES(3), TILE_NAMES(4), TILE_NAMES(5), TILE_NAMES(6),
#if RIDGE_MR > 6
    TILE_NAMES(7),
#endif
#if RIDGE_MR > 7
    TILE_NAMES(8),
#endif
#if RIDGE_WIDE > RIDGE_MR
#if RIDGE_MR < 7
    TILE_WIDE_NAMES(7),
#endif
    TILE_WIDE_NAMES(8), TILE_WIDE_NAMES(9), TILE_WIDE_NAMES(10), TILE_WIDE_NAMES(11), TILE_WIDE_NAMES(12),
#endif
};
#if defined(CONV_EDGES)
// Tiles of all pixels at the image's edge. (Others leave out taps that lie outside for all their pixels, or multiply the zeros that their pointers lead to.)
__attribute__((noinline)) RIDGE_VT static void tile_edges(const tile *t) { tile_body(RIDGE_MR, RIDGE_NV, 1, t); }
__attribute__((noinline)) RIDGE_VT static void tile_edges_3(const tile *t) { tile_body(RIDGE_MR, EDGED, 1, t); }
#endif
RIDGE_INLINE void run_tile(int64_t mr, int64_t nv, const tile *t) {
#if defined(CONV_EDGES)
  if (t->edge && mr == MR && nv >= EDGED) {
    if (nv == RIDGE_NV) tile_edges(t);
    else tile_edges_3(t);
    return;
  }
#endif
  tile_table[mr - 1][nv - 1](t);
}
#endif

#endif
