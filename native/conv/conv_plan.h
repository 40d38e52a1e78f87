// How the indirect convolution divides its work: shape, blocks, slabs, scratch of a thread.
#ifndef RIDGE_CONV_PLAN_H
#define RIDGE_CONV_PLAN_H

#include "conv_few.h"

#ifndef CONV_PB
#define CONV_PB 392 // pixels of a block, at most (a row of the image may be cut)
#endif
#ifndef CONV_KC
#define CONV_KC 2304 // elements of a slab; kernels of 64 channels take 1152, as many bytes
#endif
#ifndef CONV_KEPT
#define CONV_KEPT 0 // bytes of panels, if they are all, that are packed once and kept for a thread's next blocks
#endif
#ifndef CONV_GIVEN
#define CONV_GIVEN (256 << 10) // bytes of panels packed beforehand that a tile goes over: they stay in L2
#endif
#ifndef CONV_FAR
#define CONV_FAR (1 << 20) // bytes of a thread's share of x from which on the next tile's are asked for
#endif
#ifndef CONV_FAR_Y
#define CONV_FAR_Y (2 * CONV_FAR) // the same of y
#endif
enum { PB = CONV_PB, KC = CONV_KC, KB = 512 }; // KB: channels of a task
// One convolution, as every thread sees it.
typedef struct shape {
  const ridge_conv_args *a;
  int64_t cg, kg;       // channels and outputs of a group
  int64_t px;           // elements of a pixel in a copy: its channels, padded to whole units where a tap is a pixel
  int half;             // merged taps of bf16 end within a unit
  int merged;           // a tap is a row of the kernel: S*cg elements that lie together
  int window;           // x is read through a copy: another layout or type, merged taps, or a group's pixels side by side
  int strips;           // merged taps are read in place; tiles that see the image's edge copy what they see
  int64_t taps, len;    // taps and their elements (of x)
  int64_t listed;       // taps of a tile that have pointers of their own: all, or (merged) one, which the others follow
  int64_t step, slabs;  // a slab is step elements of each tap, or step taps (whole) ...
  int64_t whole;        // ... where this is 1
  int64_t rows;         // panel rows of the largest slab
  int kept;             // all panels stay in the scratch
  int regular;          // pixels follow each other in memory, one step after another: no pointers are kept
  int far, ahead;       // tiles ask for the next one's lines of y, for its pixels: where a thread's share lies beyond L2
  int edges;            // tiles tell which taps lie outside the image
  int skips;            // tiles leave out taps that lie outside for all their pixels
  int given;            // filters come packed beforehand: a->packed [groups][panels][depth][vectors of the panel][VL], a panel's slabs one after another
  int64_t depth;        // rows of a panel over all slabs
  int64_t span_h, hs;   // input rows of one output row, and from one output row to the next
  int64_t few;          // output channels whose tiles have vectors along a tap's elements (conv_few.h), or 0
  int64_t vectors;      // of a group's channels; few: a panel's rows have one for each
  int64_t panels;       // of at most NV vectors, as even as they can be ...
  int64_t narrow, wider; // ... so many vectors each, the first `wider` of them one more
  int64_t mr;           // pixels of a tile
  int64_t cuts, units;  // pieces of an output row, all pieces of all images
  int64_t ps, cs;       // blocks of pixels, chunks of panels
  int64_t pixels;       // of the largest block
  // Scratch of a thread: byte offsets and the total.
  int64_t o_panel, o_have, o_order, o_sums, o_pixel, o_pitch, o_edge, o_tap, o_zero, o_bias, o_scale, o_window, bytes;
} shape;

RIDGE_INLINE int64_t round_up(int64_t n) { return (n + 63) / 64 * 64; }

// Elements of me in n elements of x.
RIDGE_INLINE int64_t packed(int64_t n) { return (n + PAIR - 1) / PAIR; }

// Vectors of panel p, and those before it.
RIDGE_INLINE int64_t panel_width(const shape *s, int64_t p) { return s->narrow + (p < s->wider); }
RIDGE_INLINE int64_t panel_first(const shape *s, int64_t p) { return s->narrow * p + (p < s->wider ? p : s->wider); }
// Its first channel in the group, and how many it has.
RIDGE_INLINE int64_t panel_channel(const shape *s, int64_t p) { return panel_first(s, p) * VL; }
RIDGE_INLINE int64_t panel_channels(const shape *s, int64_t p) {
  const int64_t n = s->kg - panel_channel(s, p), most = panel_width(s, p) * VL;
  return n < most ? n : most;
}

// Rows of a panel from n elements of a tap.
RIDGE_INLINE int64_t panel_rows(const shape *s, int64_t n) { return s->few ? ceil_div(packed(n), VL) : packed(n); }

// A slab is a run of neighbouring filter elements: in NHWC (taps outside) some taps or a part of
// one, in NCHW (taps inside) some channels of every tap.
static void divide_reduction(shape *s) {
  int64_t want = KC * PAIR * RIDGE_NV / panel_width(s, 0), unit = 8, n; // as many bytes of a narrower panel
#if defined(CONV_FOURS)
  if (s->regular && s->len <= 2 * want) want = s->len; // as many bytes again (576 KiB), and sums need not wait
#endif
#if defined(CONV_FEW)
  if (s->few) want = few_bytes(s->few) / (s->few * (int64_t)sizeof(me)) * PAIR, unit = VL * PAIR;
#endif
  if (s->merged) {
    s->whole = 1, s->step = s->taps, s->slabs = 1, s->rows = s->taps * panel_rows(s, s->len);
    return;
  }
  if (s->a->layout == 0 || s->len > want) {
    int64_t per = s->a->layout == 0 ? want / s->taps : want;
    per = per < 4 ? 4 : per;
    n = ceil_div(s->len, per);
    s->whole = 0, s->step = ceil_div(ceil_div(s->len, n), unit) * unit;
    s->slabs = ceil_div(s->len, s->step) * (s->a->layout == 0 ? 1 : s->taps);
    s->rows = panel_rows(s, s->step) * (s->a->layout == 0 ? s->taps : 1);
    return;
  }
  n = ceil_div(s->taps, want / s->len);
  s->whole = 1, s->step = ceil_div(s->taps, n), s->slabs = ceil_div(s->taps, s->step), s->rows = s->step * panel_rows(s, s->len);
}

// Slab i: elements e0 .. e1-1 of taps t0 .. t1-1.
typedef struct slab {
  int64_t t0, t1, e0, e1;
} slab;

static slab slab_at(const shape *s, int64_t i) {
  slab b = {0, s->taps, 0, s->len};
  if (s->whole) {
    b.t0 = i * s->step, b.t1 = b.t0 + s->step < b.t1 ? b.t0 + s->step : b.t1;
    return b;
  }
  int64_t per = ceil_div(s->len, s->step), part = s->a->layout == 0 ? i : i % per;
  if (s->a->layout == 1) b.t0 = i / per, b.t1 = b.t0 + 1;
  b.e0 = part * s->step, b.e1 = b.e0 + s->step < b.e1 ? b.e0 + s->step : b.e1;
  return b;
}

// Its rows of a panel.
RIDGE_INLINE int64_t slab_rows(const shape *s, const slab *b) {
  return HEAD + (b->t1 - b->t0) * panel_rows(s, b->e1 - b->e0);
}

// From one pixel's sums to the next.
RIDGE_INLINE int64_t sums_pitch(const shape *s) { return s->few ? s->few : NR; }

// Input rows and columns that a block of u units sees, at most.
RIDGE_INLINE int64_t window_rows(const shape *s, int64_t u) {
  int64_t images = ceil_div(u - 1, s->a->Ho) + 1;
  return u * s->hs + images * s->span_h;
}
RIDGE_INLINE int64_t window_cols(const shape *s, int64_t outputs) {
  return (outputs - 1) * s->a->stride_w + (s->a->S - 1) * s->a->dil_w + 1;
}
// Elements of a row of a tile's strips: those of its pixels that lie in one output row stand together.
RIDGE_INLINE int64_t strip_row(const shape *s) { return s->mr * (s->a->stride_w > s->a->S ? s->a->stride_w : s->a->S) * s->px; }

// Blocks of pixels and chunks of channels: the least of (waves of tasks) * (pixels of a block, plus what
// packing a panel, or bringing a packed one, costs in pixels) * (panels of a chunk).
static void divide_work(shape *s, int nthreads) {
  const ridge_conv_args *a = s->a;
  s->cuts = ceil_div(a->Wo, PB);
  s->units = a->N * a->Ho * s->cuts;
  int64_t wide = ceil_div(a->Wo, s->cuts), per = s->cuts > 1 ? 1 : PB / wide, best = INT64_MAX;
  int64_t ps0 = ceil_div(s->units, per), cs0 = ceil_div(s->panels, KB / NR);
  s->ps = ps0, s->cs = cs0;
  for (int64_t cs = cs0; cs <= s->panels && cs < cs0 + nthreads; cs++) {
    int64_t wave0 = ceil_div(a->groups * cs * ps0, nthreads);
    for (int64_t wave = wave0; wave < wave0 + 4; wave++) {
      int64_t ps = wave * nthreads / (a->groups * cs);
      ps = s->cuts > 1 || ps < ps0 ? ps0 : ps > s->units ? s->units : ps;
      int64_t block = ceil_div(s->units, ps) * wide + (s->given ? 1 : 6);
      int64_t cost = ceil_div(a->groups * cs * ps, nthreads) * block * ceil_div(s->panels, cs);
      if (cost < best) best = cost, s->ps = ps, s->cs = cs;
    }
  }
  s->pixels = ceil_div(s->units, s->ps) * wide;
}

// Whether full panels are packed from a copy of their filters in the order [tap][element], and that order's elements of a filter.
// (NCHW filters, or those whose pixels are padded, where no vector code turns them.)
RIDGE_INLINE int orders(const shape *s) {
  int64_t all = s->a->R * s->a->S;
#if defined(CONV_DOT)
  if (s->merged) return s->px != s->cg || s->a->layout == 0;
  return s->a->layout == 0 && all > 1 && (all < 4 || s->cg % PAIR != 0);
#else
  (void)all;
  return 0;
#endif
}
RIDGE_INLINE int64_t order_of(const shape *s, int64_t step) {
  return s->merged ? s->taps * s->len : s->a->R * s->a->S * packed(step) * PAIR;
}

#if defined(CONV_FEW)
// Whether vectors along a tap's elements, whose last one may be partly empty, have fewer multiply-adds for a pixel than one vector of the output
// channels, which has a load each; the ends of the former come to about four.
static int few_win(const shape *s) {
  const int64_t units = packed(s->len), few = s->kg * (s->taps * ceil_div(units, VL) + 4), wide = s->taps * units;
  return s->a->groups == 1 && s->kg <= CONV_FEW && few <= wide;
}
#endif

// Whether a row of taps is one run of S*cg elements, which a pixel reaches by one pointer, not S runs with pointers of their own. For that x is copied, unless it is anyway (`copied`) or
// its rows are long (strips); a slab is all taps, and tiles of wide panels no longer leave out taps that lie outside the image (conv.md, rows of taps in one run).
static int merges(const shape *s, int gathers, int copied) {
  const ridge_conv_args *a = s->a;
  if (a->S == 1 || a->dil_w != 1) return 0;
  if (s->cg < 16 && a->R * a->S * s->cg <= 512) return 1;
  if (a->R * packed(a->S * s->cg) > KC) return 0;
#if defined(CONV_DOT)
  if (a->layout == 0) return s->cg < 16; // longer filters there are turned by vectors, unless their taps lie in one run
#elif defined(CONV_INT8)
  if (a->layout == 0) return 0; // as there
#endif
  if (gathers) return 1;
#if defined(CONV_FEW)
  if (s->kg <= CONV_FEW) return 0; // a copy takes as long as a few outputs
#endif
  if (copied) return s->cg <= 64;
  if (a->stride_h * a->stride_w > 1) return s->cg < 16; // a copy has several pixels for an output
#if defined(CONV_EDGES)
  if (panel_width(s, 0) >= EDGED) return s->cg <= (a->pad_h + a->pad_w == 0 || a->Ho * a->Wo >= 1024 ? 24 : 16);
#endif
  return s->cg <= 48;
}

static shape shape_of(const ridge_conv_args *a, int nthreads) {
  shape s = {.a = a, .cg = a->C / a->groups, .kg = a->K / a->groups};
  s.vectors = ceil_div(s.kg, VL), s.panels = ceil_div(s.vectors, RIDGE_NV), s.narrow = s.vectors / s.panels, s.wider = s.vectors % s.panels;
  // Pixels of a group lie a whole pixel apart in NHWC, often by a power of two: where they are used for few outputs and for several taps, side by side in a copy.
  const int gathers = a->groups > 1 && a->R * a->S > 1 && s.kg <= 2 * VL && s.kg % VL == 0 && a->R * a->S * s.cg <= CONV_KC;
#if defined(CONV_FP32) || defined(CONV_BF16) && defined(CONV_DOT)
  const int copied = gathers || a->layout == 0 || pitch_of(s.cg) != s.cg;
#else
  const int copied = 1;
#endif
  s.merged = merges(&s, gathers, copied), s.px = s.merged ? s.cg : pitch_of(s.cg);
#if defined(CONV_FP32) || defined(CONV_BF16) && defined(CONV_DOT)
  // Short rows have most of their tiles at an edge or across two rows: a copy of all that a block sees has fewer elements than their strips, which overlap.
  s.strips = s.merged && a->layout == 1 && a->groups == 1 && a->Wo >= 112;
  s.window = !s.strips && (copied || s.merged);
#else
  s.window = 1;
#endif
  s.regular = !s.window && a->R * a->S == 1 && a->stride_h == 1 && a->stride_w == 1 && a->pad_h == 0 && a->pad_w == 0;
#if defined(CONV_INT8)
  const int64_t size = a->scale ? 1 : sizeof(yt);
#else
  const int64_t size = sizeof(yt);
#endif
  const int64_t far = nthreads * (int64_t)CONV_FAR;
  s.far = !ASKS || a->N * a->Ho * a->Wo * a->K * size >= nthreads * (int64_t)CONV_FAR_Y;
  s.ahead = ASKS && !s.window && a->R * a->S == 1 && a->groups == 1 && a->N * a->H * a->W * a->C * (int64_t)sizeof(xt) >= far;
  s.taps = s.merged ? a->R : a->R * a->S, s.listed = s.merged ? 1 : s.taps, s.len = s.merged ? a->S * s.px : s.cg;
  s.mr = panel_width(&s, 0) > 2 || (panel_width(&s, 0) == 2 && s.ahead && s.regular) ? MR : RIDGE_WIDE; // 12 by two have no register for what is asked for
#if defined(CONV_FEW)
  if (few_win(&s)) s.few = s.vectors = s.narrow = s.kg, s.panels = 1, s.wider = 0, s.mr = few_pixels[s.kg - 1];
#endif
#if defined(CONV_HALVES)
  s.half = s.merged && s.len % PAIR != 0;
#endif
  s.skips = !s.window && !s.merged && a->R * a->S > 1 && a->pad_h + a->pad_w > 0;
#if defined(CONV_EDGES)
  s.edges = s.skips && !s.few && panel_width(&s, 0) >= EDGED;
#endif
  divide_reduction(&s);
  s.span_h = (a->R - 1) * a->dil_h + 1;
  s.hs = a->stride_h < s.span_h ? a->stride_h : s.span_h;
  s.given = a->packing;
  for (int64_t i = 0; s.given && i < s.slabs; i++) {
    slab b = slab_at(&s, i);
    s.depth += slab_rows(&s, &b);
  }
  if (a->N * a->Ho * a->Wo == 0) return s;
  divide_work(&s, nthreads);
  int64_t tiles = ceil_div(s.pixels, s.mr), chunk = s.slabs > 1 ? ceil_div(s.panels, s.cs) : 1, at = 0;
  s.kept = !s.given && s.slabs == 1 && a->groups == 1 && s.ps > nthreads && s.panels * s.rows * NR * (int64_t)sizeof(me) <= CONV_KEPT;
  s.o_panel = at, at += round_up((s.given ? 0 : s.kept ? s.panels : 1) * (s.rows + HEAD) * (s.few > RIDGE_NV ? s.few * VL : NR) * (int64_t)sizeof(me));
  s.o_have = at, at += round_up(s.kept ? s.panels : 1);
  s.o_order = at, at += orders(&s) ? round_up((int64_t)sizeof(xt) * NR * order_of(&s, s.step)) : 0;
  s.o_sums = at, at += round_up(chunk * s.pixels * NR * (int64_t)sizeof(me));
  s.o_pixel = at, at += round_up(tiles * s.mr * s.listed * (int64_t)sizeof(char *));
  s.o_pitch = at, at += s.merged ? round_up(tiles * (int64_t)sizeof(int64_t)) : 0;
  s.o_edge = at, at += s.edges ? round_up(tiles * (s.taps + 1)) : 0;
  s.o_tap = at, at += round_up(s.taps * (int64_t)sizeof(int64_t));
  s.o_zero = at, at += round_up(packed(s.len) * (int64_t)sizeof(me));
  s.o_bias = at, at += s.few ? round_up((VL + s.few) * (int64_t)sizeof(yt)) : 0;
  s.o_scale = at, at += s.few ? round_up((VL + s.few) * (int64_t)sizeof(float)) : 0;
  s.o_window = at;
  if (s.window) {
    int64_t u = ceil_div(s.units, s.ps), cols = window_cols(&s, ceil_div(a->Wo, s.cuts));
    at += round_up(window_rows(&s, u) * cols * s.px * (int64_t)sizeof(wt) + 64);
  }
  if (s.strips) at += round_up(tiles * a->R * strip_row(&s) * (int64_t)sizeof(wt) + 64);
  s.bytes = ridge_apart(at);
  return s;
}

#endif
