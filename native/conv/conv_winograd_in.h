// Winograd's plan, and the transforms of inputs and filters (conv_winograd_body.h).
#ifndef RIDGE_CONV_WINOGRAD_IN_H
#define RIDGE_CONV_WINOGRAD_IN_H

#include "conv_tile.h"
#if defined(CONV_STEP2)
#include "conv_winograd_phases.h"
#elif defined(CONV_STEM)
#include "conv_winograd_stem.h"
#else
#include "conv_winograd_turn.h"
#endif

// COPIED: inputs come by way of a window in both layouts. V of a stem's block, 80 tiles of 36 positions, stays in L2, and each thread has its own.
#if defined(CONV_STEM)
#include "conv_winograd_stem_tile.h"
enum { COPIED = 1, WHOLE = STEP };
#define CONV_VMAX (45 << 10)
#define CONV_APART 12
#define CONV_TS 40
#else
enum { COPIED = 0, WHOLE = 4, ROWS = MR };
RIDGE_INLINE int64_t run_at(int64_t pos, int64_t run) { return (void)pos, run; }
#endif
#ifndef CONV_VMAX
#define CONV_VMAX (512 << 10)
#endif
#ifndef CONV_APART
#define CONV_APART (1 << 30)
#endif
#ifndef CONV_TS
#define CONV_TS 56
#endif
// TS: tiles of a sub-block, at most, and of a block at least, up to 16 MiB: each block reads all transformed filters, 36 to 81 times a panel's, from L3; LONG: of a stretch (below); CHUNK: channels of filters transformed at once.
enum { VMAX = CONV_VMAX, TS = CONV_TS, LONG = 16, POS = MOST * MOST, APART = CONV_APART, CHUNK = 16 };

typedef struct plan {
  const ridge_conv_args *a;
  int64_t step, points, pos;  // outputs of a tile's side; positions of it, of a tile
  int64_t turns;              // positions of the transformed filters
  int64_t run, depth;         // elements of a row of V that are multiplied, and that it has: C, but for a stem's phases
  int64_t last_h, last_w;     // outputs of a side of the last row's and column's tiles
  int64_t across, per, tiles; // tiles of a row, of an image, of all
  int even;                   // all are WHOLE: 4x4, a stem's 3x3
  uint8_t class_of[POS];      // of a position: 2 (wanting in the last row's tiles, which are short) + 1 (in the last column's)
  uint8_t turn_of[POS];       // of a position: that of the filters
  int apart;                  // threads have their own tiles and V
  int64_t block, blocks;      // tiles of a block, blocks
  int asks;                   // for outputs' lines: a stem's transforms wait for those in L3 less than asking takes
  int64_t kept;               // panels of filters transformed in the call that a thread has at once: one, all of a stem's
  int64_t panels, splits;     // panels of channels; parts of a block's tiles
  int64_t v_pos, u_pos, m_pos; // elements from one position to the next, a line more than they hold: whole multiples
                               // of 4 KiB would meet in one set of L1
  int64_t wide;                // NCHW: columns of a thread's window, a tile's input rows as pixels of channels
  int64_t shared, own;         // bytes of V, and of each thread
} plan;

// Elements from one channel's outputs of a stretch to the next, in scratch.
RIDGE_INLINE int64_t ends_ld(int64_t cols) { return (cols * 4 + 4 + 15) / 16 * 16 + 16; }

// Outputs of the last tile's side, of n in all: one output takes the points of two.
RIDGE_INLINE int64_t last_of(int64_t n, int64_t step) { return n % step == 0 ? step : n % step == 1 ? 2 : n % step; }

static plan plan_of(const ridge_conv_args *a, int nthreads) {
#if defined(CONV_STEM)
  plan p = {.a = a, .step = STEP, .run = 4 * a->C, .depth = DEPTH, .last_h = STEP, .last_w = STEP};
#else
  plan p = {.a = a, .step = STRIDE == 2 ? 4 : ridge_conv_winograd_step(a), .run = a->C, .depth = a->C};
  p.last_h = last_of(a->Ho, p.step), p.last_w = last_of(a->Wo, p.step);
#endif
  const int64_t turns = STRIDE == 2 ? TURNS : span(p.step);
  p.points = span(p.step), p.pos = p.points * p.points, p.turns = turns * turns;
  p.even = p.step == WHOLE && p.last_h == WHOLE && p.last_w == WHOLE, p.across = ceil_div(a->Wo, p.step);
  p.per = p.across * ceil_div(a->Ho, p.step), p.tiles = a->N * p.per;
  for (int64_t h = 0, pos = 0; h < p.points; h++)
    for (int64_t w = 0; w < p.points; w++, pos++) {
      p.class_of[pos] = (uint8_t)(2 * (h >= span(p.last_h)) + (w >= span(p.last_w)));
      p.turn_of[pos] = (uint8_t)(turn_at(h) * turns + turn_at(w));
    }
  int64_t most = VMAX / (p.pos * p.depth), few = (4 << 20) / (p.pos * p.depth);
  if (few > TS) few = TS;
  if (most < few) most = few;
  if (most < MR) most = MR;
  p.apart = nthreads > 1 && p.tiles >= (int64_t)APART * nthreads;
  int64_t tiles = p.apart ? ceil_div(p.tiles, nthreads) : p.tiles; // of a thread, or of all
  p.blocks = ceil_div(tiles, most), p.block = p.blocks > 0 ? ceil_div(tiles, p.blocks) : 0;
  p.panels = a->K / NR, p.splits = p.apart ? 1 : ceil_div(nthreads, p.panels);
  p.v_pos = p.block * p.depth + 16, p.u_pos = p.run * NR + 16, p.m_pos = TS * NR + 16;
  p.shared = (p.apart ? nthreads : 1) * ridge_apart(p.pos * p.v_pos * (int64_t)sizeof(float));
  p.wide = a->layout == 0 || COPIED ? (p.across - 1) * p.step * STRIDE + p.points : 0;
  p.asks = !COPIED || a->N * a->K * a->Ho * a->Wo * (int64_t)sizeof(yt) > 4 << 20;
  p.kept = a->packing ? 0 : COPIED ? p.panels : 1;
  p.own = ridge_apart((p.kept * p.turns * p.u_pos + p.pos * p.m_pos + p.depth + p.points * p.wide * p.depth + VL * ends_ld(LONG * 4)) * (int64_t)sizeof(float));
  return p;
}

// The end of the sub-block that begins at tile s0 of what ends at s1: even parts, to whole rows of tiles where that needs no more of them.
static int64_t sub_end(const plan *p, int64_t s0, int64_t s1) {
  int64_t subs = ceil_div(s1 - s0, TS), even = s0 + ceil_div(s1 - s0, subs), row = (even + p->across / 2) / p->across * p->across;
  if (subs == 1) return s1;
  return row > s0 && row - s0 <= TS && s1 - row <= (subs - 1) * TS ? row : even;
}

int64_t CONV_CAT(CONV_FN, _workspace)(const void *args, int32_t nthreads) {
  plan p = plan_of(args, nthreads);
  return p.shared + nthreads * p.own;
}

// Outputs of the sides of a tile.
RIDGE_INLINE int64_t high(const plan *p, int64_t tile) { return tile % p->per >= p->per - p->across ? p->last_h : p->step; }
RIDGE_INLINE int64_t broad(const plan *p, int64_t tile) { return tile % p->across == p->across - 1 ? p->last_w : p->step; }

#if !defined(CONV_STEM)
// NCHW: copies the input rows of a row of tiles, turned, with their padding.
RIDGE_VT static void copy_rows(const plan *p, int64_t tile, float *window, int next) {
  (void)next;
  const ridge_conv_args *a = p->a;
  int64_t top = tile % p->per / p->across * p->step * STRIDE - a->pad_h, C = a->C;
  int64_t c0 = a->pad_w < p->wide ? a->pad_w : p->wide, c1 = a->pad_w + a->W < p->wide ? a->pad_w + a->W : p->wide;
  const xt *image = (const xt *)a->x + tile / p->per * C * a->H * a->W;
  for (int64_t h = top; h < top + p->points; h++, window += p->wide * C) {
    int inside = h >= 0 && h < a->H;
    memset(window, 0, (size_t)((inside ? c0 : p->wide) * C) * sizeof(float));
    if (!inside) continue;
    turn_row(image + h * a->W, a->H * a->W, C, c1 - c0, C, window + c0 * C);
    memset(window + c1 * C, 0, (size_t)((p->wide - c1) * C) * sizeof(float));
  }
}
#endif

// VL neighbouring elements of x or, of a thread's window, in fp32.
RIDGE_INLINE RIDGE_VT mv input_at(const void *from, int64_t c, const int window) {
#if defined(CONV_BF16)
  if (!window) return (mv)ridge_bf16_load((const xt *)from + c);
#endif
  (void)window;
  return *(const mv_any *)((const float *)from + c);
}

// Code for each size of tile at the six points, [mh - 2][mw - 2], and for FEW's.
#if defined(CONV_STEM)
#define EACH_SIZE(f) \
  { {0}, {0, f(3, 3)}, {0} }
#else
#define EACH_SIZE(f) \
  { {f(2, 2), f(2, 3), f(2, 4)}, {f(3, 2), f(3, 3), f(3, 4)}, {f(4, 2), f(4, 3), f(4, 4)} }
#endif
#define SHARED_SIZES(f) f(2, 2) f(2, 3) f(2, 4) f(3, 2) f(3, 3) f(3, 4) f(4, 2) f(4, 3) f(4, 4)
#if defined(CONV_STEP2)
#define FOR_EACH_SIZE(f) SHARED_SIZES(f)
#define FEW_OR(few, other) other
#elif defined(CONV_STEM)
#define FOR_EACH_SIZE(f) f(3, 3)
#define FEW_OR(few, other) other
#else
#define FOR_EACH_SIZE(f) SHARED_SIZES(f) f(1, 1)
#define FEW_OR(few, other) (p->step == 2 ? few : other)
#endif

#if defined(CONV_STEM)
#include "conv_winograd_stem_in.h"
#else
// Transforms the inputs of one tile of mh x mw outputs, from the pixels `at`, to v and on from position to position.
RIDGE_INLINE RIDGE_VT void turn_inputs(const plan *p, const void *const at[POS], float *v, const int mh, const int mw, const int window) {
  const int64_t row_pos = p->points * p->v_pos;
  for (int64_t c = 0; c < p->run; c += VL, v += VL) {
    mv t[MOST][MOST];
    for (int w = 0; w < span(side(mw)); w++) {
      mv d[MOST], col[MOST];
      RIDGE_UNROLL_ALL
      for (int h = 0; h < span(side(mh)); h++) d[h] = input_at(at[h * MOST + w], c, window);
      turn_in(mh, d, col);
      RIDGE_UNROLL_ALL
      for (int h = 0; h < span(side(mh)); h++) t[h][w] = col[h];
    }
    float *rows = v;
    for (int h = 0; h < span(side(mh)); h++, rows += row_pos) {
      mv row[MOST];
      float *to = rows;
      turn_in(mw, t[h], row);
      RIDGE_UNROLL_ALL
      for (int w = 0; w < span(side(mw)); w++, to += p->v_pos) *(mv_any *)to = row[w];
    }
  }
}

#define INPUTS(mh, mw)                                                                                                            \
  __attribute__((noinline)) RIDGE_VT static void inputs_##mh##mw(const plan *p, const void *const at[POS], float *v, int window) { \
    if (window || sizeof(xt) == sizeof(float)) turn_inputs(p, at, v, mh, mw, 1);                                                  \
    else turn_inputs(p, at, v, mh, mw, 0);                                                                                        \
  }
FOR_EACH_SIZE(INPUTS)
typedef void (*inputs_fn)(const plan *, const void *const[POS], float *, int);

// Transforms the inputs of one tile to V[.][i][.] of the block.
RIDGE_VT static void inputs(const plan *p, int64_t tile, int64_t i, const float *zeros, const float *window, float *V) {
#define INPUTS_OF(mh, mw) inputs_##mh##mw
  static const inputs_fn of[3][3] = EACH_SIZE(INPUTS_OF);
  const ridge_conv_args *a = p->a;
  const void *at[POS];
  const xt *image = (const xt *)a->x + tile / p->per * a->H * a->W * a->C;
  const int64_t across = tile % p->across * p->step * STRIDE, mh = high(p, tile), mw = broad(p, tile), C = p->depth;
  const int64_t top = tile % p->per / p->across * p->step * STRIDE - a->pad_h, left = across - a->pad_w;
  for (int64_t h = 0; h < span(mh); h++)
    for (int64_t w = 0; w < span(mw); w++) {
      int inside = top + h >= 0 && top + h < a->H && left + w >= 0 && left + w < a->W;
      at[h * MOST + w] = p->wide > 0 ? (const void *)(window + (h * p->wide + across + w) * C)
                         : inside       ? (const void *)(image + ((top + h) * a->W + left + w) * C)
                                        : zeros;
    }
  FEW_OR(inputs_11, of[mh - 2][mw - 2])(p, at, V + i * C, p->wide > 0);
}

// Transforms the filters of NR channels from k, at TURNS points or FEW's 4. Channels of NHWC come in CHUNKs, copied together first: rows and taps of a
// power of two of channels lie whole multiples of 4 KiB apart, in few sets of L1, which would lose their lines before all four quads of each are
// read (NCHW, whose taps are neighbours: 0.92 to 1.07 with a copy). Lines behind are asked for: these are more streams than hardware follows.
RIDGE_INLINE RIDGE_VT void filters_at(const plan *p, int64_t k, float *U, const int points) {
  const int64_t C = p->a->C;
  const int nhwc = p->a->layout == 1;
  xt near[9 * VL * CHUNK]; // [tap][filter][CHUNK]
  for (int64_t c = 0; c < C; c += CHUNK)
    for (int v = 0; v < RIDGE_NV; v++) {
      const xt *w = (const xt *)p->a->w + (k + v * VL) * 9 * C;
      for (int l = 0; nhwc && l < VL; l++)
        for (int t = 0; t < 9; t++) {
          const xt *line = w + (l * 9 + t) * C + c;
          memcpy(near + (t * VL + l) * CHUNK, line, CHUNK * sizeof(xt));
          __builtin_prefetch(line + CHUNK, 0, 2);
        }
      for (int64_t i = 0; i < CHUNK; i += 4) {
        mv g[9][4];
        for (int t = 0; t < 9; t++) {
          if (nhwc) {
            turn_elements(near + t * VL * CHUNK + i, CHUNK, g[t]);
            continue;
          }
          const xt *at = w + (c + i) * 9;
          for (int l = 0; l < 4; l++) __builtin_prefetch(at + (t % 4 * 4 + l) * 9 * C + (4 + t / 4) * (64 / (int64_t)sizeof(xt)), 0, 2);
          mv four[4]; // elements 4t .. 4t+3 of four channels' nine taps
          turn_elements(at + t * 4, 9 * C, four);
          for (int j = 0; j < 4; j++) g[(4 * t + j) % 9][(4 * t + j) / 9] = four[j];
        }
        for (int j = 0; j < 4; j++) {
          mv t[TURNS][3];
          RIDGE_UNROLL_ALL
          for (int s = 0; s < 3; s++) {
            mv col[3] = {g[s][j], g[3 + s][j], g[6 + s][j]}, u[TURNS];
            turn_filter(points, col, u);
            RIDGE_UNROLL_ALL
            for (int h = 0; h < points; h++) t[h][s] = u[h];
          }
          float *to = U + (c + i + j) * NR + v * VL;
          for (int h = 0; h < points; h++) {
            mv u[TURNS];
            turn_filter(points, t[h], u);
            RIDGE_UNROLL_ALL
            for (int s = 0; s < points; s++, to += p->u_pos) *(mv_any *)to = u[s];
          }
        }
      }
    }
}
RIDGE_VT static void filters(const plan *p, int64_t k, float *U) {
  if (p->turns == TURNS * TURNS) filters_at(p, k, U, TURNS);
  else filters_at(p, k, U, 4);
}
#endif

#endif
