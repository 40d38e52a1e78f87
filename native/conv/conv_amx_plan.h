// How the convolution on AMX tiles divides its work: where the pixels of a tile lie, steps of the reduction, blocks, threads' shares.
#ifndef RIDGE_CONV_AMX_PLAN_H
#define RIDGE_CONV_AMX_PLAN_H

#include "conv_vector.h"

enum {
  UNIT = 64 / (int)sizeof(xt), // elements of a tile's row
  NR = 32,                     // channels of a panel: two tiles
  STEP = 2048                  // bytes of a panel for a step: 16 rows of 64 bytes, twice
};
#ifndef CONV_FAR
#define CONV_FAR (2 << 20) // bytes of a thread's share of x from which on the next block's are asked for
#endif
enum { DIRECT, GATHER, DENSE, WINDOW };

// Bytes of panels that stay in L2 while the pixels of a block pass: of 1x1 kernels, of others, whose windows are there too.
#ifndef CONV_CHUNK1
#define CONV_CHUNK1 (1300 << 10)
#endif
#ifndef CONV_CHUNK
#define CONV_CHUNK (768 << 10)
#endif
#ifndef CONV_WINDOW
#define CONV_WINDOW (512 << 10) // bytes of a block's copy of x, at most (a row of the image may be more)
#endif
enum { MOST_WINDOW = 16 << 20 }; // bytes of a window of rows of taps, at most: rows may be as long as an image is wide
enum { MOST = 3 }; // tiles of a block, at most
enum { LONG = 4096, ASIDE = 16 }; // pixels of a block that is read in place; rows that tiles read beyond a window

// One convolution, as every thread sees it.
typedef struct plan {
  const ridge_conv_args *a;
  int mode;
  int rowwise;             // WINDOW: of rows of taps
  int64_t cg, kg, panels;  // of a group: channels, outputs, panels of NR of them
  int64_t taps, units;     // units of UNIT elements of a tap (DENSE: of all taps)
  int64_t steps;           // taps * units
  int whole;               // whether pixels do not stay in L1 for a panel's other half
  int64_t pixels;
  int asks, far;           // whether pixels may be asked for ahead; whether x is more than L2 holds
  int64_t px;              // bytes of a pixel where it is read; WINDOW: in a plane of units, 64
  int64_t pitch;           // from a step to the next, but in WINDOW
  int64_t plane;           // WINDOW: from a unit of channels to the next
  int64_t stride;          // bytes from a tile's row to the next
  int64_t wide, span_h, hs; // WINDOW: columns, rows of an output row, rows from an output row to the next
  int64_t flat;            // WINDOW: positions of an output row where tiles go on over its end, else 0
  int64_t each;            // WINDOW: tiles of an output row
  int64_t total, per;      // output rows (WINDOW) or groups of 16 pixels, all and in a block
  int64_t ps, cs;          // pieces of pixels, of panels
  int64_t chunk;           // panels of a chunk
  int64_t tiles;           // of a block, at most
  int64_t window_bytes;    // of a block's copy
  int64_t o_bias, o_scale, o_sums, o_at, o_tiles, o_map, o_window, bytes; // scratch of a thread
  int64_t shared;                                                // before it: the packed panels, unless they come packed beforehand
} plan;

RIDGE_INLINE int64_t round_up(int64_t n) { return (n + 63) / 64 * 64; }
RIDGE_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Bytes of all panels.
RIDGE_INLINE int64_t panels_bytes(const plan *p) { return p->a->groups * p->panels * p->steps * STEP; }

typedef ridge_vi_any line_any __attribute__((aligned(1)));

// NCHW is read through windows alone (conv_amx_nchw.h).
RIDGE_INLINE int is_nchw(const ridge_conv_args *a) { return a->layout == 0; }

// Whether x is read through dense rows of all taps: single taps of which no whole units lie in the image one step after another, and few channels, whose
// taps would each fill a part of a unit.
RIDGE_INLINE int is_dense(const ridge_conv_args *a) {
  const int64_t cg = a->C / a->groups, taps = a->R * a->S;
  return !is_nchw(a) && (taps == 1 || 3 * ceil_div(taps * cg, UNIT) <= 2 * taps * ceil_div(cg, UNIT));
}
// Whether a window holds for each output column the row of taps that it sees, 64 bytes, instead of pixels: a step is a row of taps. It copies an input row
// once, dense rows of all taps once for every row of taps, but takes more steps. Cycles of a pixel (docs/kernels/conv.md, Emerald Rapids): a step 6 for 64
// channels, a row of taps 6.
RIDGE_INLINE int is_rowwise(const ridge_conv_args *a) {
  const int64_t cg = a->C / a->groups, row = a->S * cg;
  if (!is_dense(a) || a->R * a->S == 1 || a->dil_w != 1 || row > UNIT) return 0;
  if (((a->R - 1) * a->dil_h + 1 + 2 * a->stride_h) * a->Wo > MOST_WINDOW / 64) return 0; // of one output row
  const int64_t panels = ceil_div(a->K / a->groups, NR), dense = ceil_div(a->R * row, UNIT);
  return a->R * panels + 2 * least(a->stride_h, a->R) < dense * panels + 2 * a->R;
}
RIDGE_INLINE int is_direct(const ridge_conv_args *a) {
  return !is_nchw(a) && a->R * a->S == 1 && a->stride_h == 1 && a->stride_w == 1 && a->pad_h == 0 && a->pad_w == 0 && a->C / a->groups % UNIT == 0;
}
RIDGE_INLINE int64_t steps_of(const ridge_conv_args *a) {
  const int64_t cg = a->C / a->groups, taps = a->R * a->S;
  return is_rowwise(a) ? a->R : is_dense(a) ? ceil_div(taps * cg, UNIT) : taps * ceil_div(cg, UNIT);
}

// Sixteenths of a product of 16 rows that one of `rows` takes (measured: docs/kernels/conv.md).
RIDGE_INLINE int64_t product_time(int64_t rows) { return rows <= 8 ? 12 : 8 + rows / 2; }

// Pieces of pixels and of panels: the least time of a thread, in cycles. Filters beyond L2 come with 8 bytes a cycle, pixels are copied with 16, or read in place
// with 32. Without the latter two threads shared the channels of 64 -> 64, 1x1, whose pixels are two lines of y: on one core's prefetchers a
// line of the other thread's with each (Emerald Rapids: 0.39 of oneDNN, 0.56 for 64 -> 256).
static void divide_work(plan *p, int nthreads) {
  const ridge_conv_args *a = p->a;
  const int64_t rows = p->mode == WINDOW ? p->each : 1, copied = p->mode == DIRECT ? 16 * p->steps * 32 : p->mode != WINDOW ? 16 * p->steps * 64 : p->hs * p->wide * p->units * 64;
  int64_t best = INT64_MAX;
  p->ps = p->cs = 1;
  for (int64_t cs = 1; cs <= nthreads && cs <= p->panels; cs++) {
    const int64_t ps = least(nthreads / cs < 1 ? 1 : nthreads / cs, p->total);
    const int64_t units = ceil_div(p->total, ps), panels = ceil_div(p->panels, cs);
    const int64_t time = units * rows * panels * p->steps * 32 + panels * p->steps * STEP / 8 + units * copied / 16;
    const int64_t all = ceil_div(a->groups * ps * cs, nthreads) * time;
    if (all < best) best = all, p->ps = ps, p->cs = cs;
  }
}

static plan plan_of(const ridge_conv_args *a, int nthreads) {
  plan p = {.a = a, .cg = a->C / a->groups, .kg = a->K / a->groups, .taps = a->R * a->S};
  p.panels = ceil_div(p.kg, NR), p.steps = steps_of(a);
  p.rowwise = is_rowwise(a);
  p.mode = is_direct(a) ? DIRECT : is_dense(a) && !p.rowwise ? DENSE : WINDOW;
  if (p.mode == DENSE && p.taps == 1) p.mode = GATHER;
  p.units = p.rowwise ? 1 : p.mode == WINDOW ? p.steps / p.taps : p.steps;
  p.whole = p.mode != WINDOW && p.steps > 12;
  const int64_t pixels = p.pixels = a->N * a->Ho * a->Wo;
  if (pixels == 0) return p;
  p.px = p.mode == DIRECT ? a->C * (int64_t)sizeof(xt) : p.mode == DENSE ? p.units * 64 : 64;
  p.pitch = p.mode == GATHER ? MOST * 1024 : 64;
  p.stride = p.px;
  p.total = ceil_div(pixels, 16), p.each = 1, p.span_h = (a->R - 1) * a->dil_h + 1;
  if (p.mode == WINDOW) {
    const int64_t step = p.rowwise ? 1 : a->stride_w;
    p.stride = step * p.px, p.total = a->N * a->Ho;
    p.hs = least(a->stride_h, p.span_h);
    p.wide = p.rowwise ? a->Wo : (a->Wo - 1) * a->stride_w + (a->S - 1) * a->dil_w + 1, p.each = ceil_div(a->Wo, 16);
    // Tiles within an output row, or over a whole image's positions, those between two rows for nothing.
    const int64_t wide = ceil_div(p.wide, step) * step, flat = p.hs * wide / step;
    const int64_t by_rows = a->Ho * p.each * product_time(ceil_div(a->Wo, p.each)), flatly = ceil_div((a->Ho - 1) * flat + a->Wo, 16) * 16;
    if (flatly < by_rows && p.hs == a->stride_h) p.flat = flat, p.wide = wide;
  }
  divide_work(&p, nthreads);
  p.asks = p.mode == DIRECT && p.steps <= 8, p.far = pixels * p.px >= nthreads * (int64_t)CONV_FAR;
  const int64_t share = ceil_div(p.total, p.ps);
  if (p.mode != WINDOW) p.per = LONG / 16;
  else p.per = (CONV_WINDOW / (p.wide * p.units * 64) - p.span_h) / p.hs + 1;
  p.per = p.per < 1 ? 1 : p.per, p.per = ceil_div(share, ceil_div(share, p.per));
  p.chunk = (p.taps == 1 ? CONV_CHUNK1 : CONV_CHUNK) / (p.steps * STEP), p.chunk = p.chunk < 1 ? 1 : p.chunk;
  p.tiles = p.per;
  if (p.mode == GATHER || p.mode == DENSE) p.window_bytes = MOST * 16 * p.steps * 64 + 64; // of a group
  if (p.mode == WINDOW) {
    const int64_t images = ceil_div(p.per - 1, a->Ho) + 1;
    p.plane = (((p.per + images) * p.hs + images * p.span_h) * p.wide | 1) * p.px;
    p.window_bytes = p.units * p.plane + ASIDE * p.stride;
    p.tiles = p.flat ? ceil_div(p.per * p.flat, 16) + images : p.per * p.each;
  }
  const int64_t all = a->groups * p.panels * NR;
  int64_t at = 0;
  p.o_bias = at, at += round_up(all * 4);
  p.o_scale = at, at += round_up(all * 4);
  p.o_sums = at, at += 2 * MOST * STEP;
  p.o_at = at, at += round_up(p.steps * 8);
  p.o_tiles = at, at += round_up(p.tiles * 24);
  p.o_map = at, at += p.flat ? round_up(p.tiles * 32) : 0;
  p.o_window = at, at += round_up(p.window_bytes);
  p.bytes = ridge_apart(at);
  p.shared = a->packing ? 0 : ridge_apart(panels_bytes(&p));
  return p;
}

#endif
