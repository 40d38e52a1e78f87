// The body of conv2d_*_indirect: implicit GEMM whose pixels are read through pointers
//
//   y[q, k] = act(bias[k] + sum over taps t and elements e of x[pixel(q, t)][e] * w[k, t, e] + residual[q, k])
//
// q = (n, ho, wo). The image is never unfolded: a tile multiplies mr pixels, each read in place through
// a pointer per tap, with a panel of up to NR channels (MR pixels; more by narrow panels; of few channels another way: conv_few.h). Taps outside the image point to zeros.
//
// NHWC in fp32 is read where it lies. Otherwise (NCHW, bf16, int8; groups of one and two vectors of outputs, whose pixels lie far apart) each block of pixels first copies
// the rows of x that it sees, as pixels of channels in the type that is multiplied, with their
// padding: one load and store per element of x and block, shared by all channels. Kernels over
// few channels (stems, and up to 64: merges) read a whole row of taps as one run, S*C elements that lie
// together in such a copy, and in NHWC in the image (fp32, bf16 pairs): in long rows only tiles at the image's edge
// copy what they see (strips). Their taps are rows, a constant pitch apart: a tile keeps one pointer for a pixel.
// Filters are turned to panels [element][channel] block by block, never all at once, so that nothing is
// written beyond the second-level cache: a panel is used for all pixels of the block at once.
//
// 1x1 layers of step 1 whose pixels are read in place keep no pointers: a tile's pixels follow each other (regular). Tiles of whole rows' parts
// know which taps lie outside the image and leave them out (conv_tile.h).
//
// Blocks: a panel of KC elements by NR channels (147 KiB at 16 channels, 288 KiB at 64) stays in L2 and streams from
// there for every tile, 64 bytes in 6 cycles; most reductions fit one slab and finish in registers. Panels that
// stay in L1 (slabs of 256) were slower: L1 also holds what else runs on the core, and sums come and go more often.
// Between slabs sums wait in the thread's scratch.
// Work is shared by blocks of pixels (whole rows, or pieces of long rows) and chunks of channels.
//
// Cost of packing a panel: 4 vector loads, 8 half loads and inserts, 8 shuffles and 4 stores for 32 filter elements,
// about 1.2 cycles per vector of 8 against half a cycle per pixel and vector: 1 % at 256 pixels, 5 % at 49.
// CONV_DOT (bf16 pairs, bytes in fours): panels and pixels are units of 32 bits, so everything above is counted in units; bf16 in NHWC
// with whole pairs is read in place too. Panels that all fit CONV_KEPT are packed once and kept for a thread's next blocks.
//
// Filters packed beforehand (`packing`): all panels lie one after another in a->packed, [groups][panels][depth][channels of the panel], and nothing is packed in the call.
// Then a tile goes over as many panels as stay in L2 before the next tile begins: task_given. Zen 3, of the rate without, 1x1 layers of
// ResNet-50: 1.03 to 1.13 (docs/kernels/conv.md), of which the panels' order alone gives 1.00 to 1.09.
// Asking ahead (kernels with CONV_MAC), where a thread's share lies beyond L2 (CONV_FAR): 1x1 tiles ask for the next tile's pixels while they multiply, for
// every line of y that it will write, before. Zen 4, batch 16, bf16: 1.03 to 1.35; below that size it gained nothing and cost up to 2 %.
// Source of the scheme: Dukhan 2019, "The Indirect Convolution Algorithm"; Goto and van de Geijn 2008
// for the blocking.
#include "conv_window.h"
#ifndef CONV_NEAR
#define CONV_NEAR (20 << 10) // bytes of a panel that stays in L1
#endif

// Scratch of one thread and the block that it works on.
typedef struct block {
  me *panel, *sums;
  const char **pixel; // [tile][listed tap][mr]
  int64_t *pitch;     // [tile], merged taps: bytes from one to the next
  char *edge;         // [tile][1 + tap]: whether the tile has taps outside the image, then CONV_INSIDE ... of each
  int64_t *tap;       // byte offset of a tap from a pixel's first
  char *zero;
  wt *window;
  xt *order;          // filters in another order
  char *have;         // panels packed
  yt *biases;         // few channels': bias and scale of VL neighbours in y, from any channel on
  float *scales;
  int64_t g, q0, pixels, tiles, small, larger;
  int64_t located; // one more than the first unit whose pixels in the copy the pointers lead to; 0: none
} block;

RIDGE_INLINE RIDGE_VT block block_of(const shape *s, char *scratch) {
  return (block){.panel = (me *)(scratch + s->o_panel),
                 .sums = (me *)(scratch + s->o_sums),
                 .pixel = (const char **)(scratch + s->o_pixel),
                 .pitch = s->merged ? (int64_t *)(scratch + s->o_pitch) : NULL,
                 .edge = s->edges ? scratch + s->o_edge : NULL,
                 .tap = (int64_t *)(scratch + s->o_tap),
                 .zero = scratch + s->o_zero,
                 .window = (wt *)(scratch + s->o_window),
                 .order = (xt *)(scratch + s->o_order),
                 .have = scratch + s->o_have,
                 .biases = (yt *)(scratch + s->o_bias),
                 .scales = (float *)(scratch + s->o_scale)};
}

int64_t CONV_CAT(CONV_FN, _workspace)(const void *args, int32_t nthreads) {
  shape s = shape_of(args, nthreads);
  return nthreads * s.bytes;
}

// Pixels of tile i: tiles are as even as they can be, the first ones larger by one.
RIDGE_INLINE int64_t tile_pixels(const block *b, int64_t i) { return b->small + (i < b->larger); }

// Which taps of the tiles at the image's edge lie outside it.
static void find_edges(const shape *s, block *b) {
  for (int64_t i = 0; i < b->tiles; i++) {
    char *edge = b->edge + i * (s->taps + 1);
    if (!edge[0]) continue;
    const int64_t n = tile_pixels(b, i);
    for (int64_t t = 0; t < s->taps; t++) {
      const char *const *pixel = (const char *const *)b->pixel + (i * s->taps + t) * s->mr;
      int64_t outside = 0;
      for (int64_t l = 0; l < n; l++) outside += pixel[l] == b->zero;
      edge[1 + t] = outside == n ? CONV_NONE : outside != 1 ? CONV_INSIDE : pixel[0] == b->zero ? CONV_FIRST : pixel[n - 1] == b->zero ? CONV_LAST : CONV_INSIDE;
    }
  }
}

// The edges of tile i from tap t on, NULL where it has none.
RIDGE_INLINE const char *edges_of(const shape *s, const block *b, int64_t i, int64_t t) {
  const char *edge = b->edge ? b->edge + i * (s->taps + 1) : NULL;
  return edge && edge[0] ? edge + 1 + t : NULL;
}

// What m pixels from column j of output row ho of image n on see, padding and image, to the rows of a strip from `to` on.
RIDGE_VT static void copy_strip(const shape *s, int64_t n, int64_t ho, int64_t j, int64_t m, wt *to) {
  const ridge_conv_args *a = s->a;
  const int64_t cols = window_cols(s, m), left = j * a->stride_w - a->pad_w, top = ho * a->stride_h - a->pad_h;
  for (int64_t r = 0; r < a->R; r++) copy_row(s, 0, n, top + r * a->dil_h, left, cols, to + r * strip_row(s));
}

// The pixels of units u0 .. u1-1 where merged taps are read in place.
RIDGE_VT static void locate_strips(const shape *s, block *b, int64_t u0, int64_t cols, int64_t col0) {
  const ridge_conv_args *a = s->a;
  const int64_t pixel = a->C * (int64_t)sizeof(xt), step = a->stride_w * pixel, row = strip_row(s);
  wt *strip = b->window;
  for (int64_t i = 0, q = 0; i < b->tiles; i++) {
    const int64_t n = tile_pixels(b, i), end = q + n;
    const char **to = b->pixel + i * s->mr;
    int64_t u = (u0 + q / cols) / s->cuts, j = col0 + q % cols, top = u % a->Ho * a->stride_h - a->pad_h, left = j * a->stride_w - a->pad_w;
    // A last half unit reads one element more, which must be the image's.
    if (q % cols + n <= cols && top >= 0 && top + s->span_h <= a->H && left >= 0 && left + window_cols(s, n) + s->half <= a->W) {
      const char *at = (const char *)a->x + ((u / a->Ho * a->H + top) * a->W + left) * pixel;
      for (int64_t l = 0; l < n; l++) to[l] = at + l * step;
      b->pitch[i] = a->dil_h * a->W * pixel, q = end;
      continue;
    }
    for (int64_t at = 0, m; q < end; q += m, to += m) {
      u = (u0 + q / cols) / s->cuts, j = col0 + q % cols, m = cols - q % cols < end - q ? cols - q % cols : end - q;
      copy_strip(s, u / a->Ho, u % a->Ho, j, m, strip + at);
      for (int64_t l = 0; l < m; l++) to[l] = (const char *)(strip + at) + l * step;
      at += window_cols(s, m) * s->px;
    }
    b->pitch[i] = row * (int64_t)sizeof(wt), strip += a->R * row;
  }
}

// Points at the pixels of units u0 .. u1-1: output rows, or one piece of a row.
RIDGE_VT static void locate(const shape *s, block *b, int64_t u0, int64_t u1) {
  const ridge_conv_args *a = s->a;
  int64_t cut = u0 % s->cuts, col0 = a->Wo * cut / s->cuts, cols = a->Wo * (cut + 1) / s->cuts - col0;
  int64_t wide = window_cols(s, cols), size = s->window ? (int64_t)sizeof(wt) : (int64_t)sizeof(xt);
  int64_t pixel = s->window ? s->px : a->C, row_len = s->window ? wide : a->W;
  int64_t left = col0 * a->stride_w - a->pad_w, wrow = 0;
  int64_t S = s->merged ? 1 : a->S;
  b->q0 = u0 / s->cuts * a->Wo + col0, b->pixels = (u1 - u0) * cols, b->tiles = ceil_div(b->pixels, s->mr);
  b->small = b->pixels / b->tiles, b->larger = b->pixels % b->tiles;
  if (s->regular) return;
  const int known = s->window && b->located == u0 + 1; // the same pixels of another group lie at the same place
  b->located = u0 + 1;
  if (s->strips) {
    locate_strips(s, b, u0, cols, col0);
    return;
  }
  for (int64_t t = 0; t < s->taps && !known; t++)
    b->tap[t] = (t / S * a->dil_h * row_len + t % S * a->dil_w) * pixel * size;
  for (int64_t i = 0; s->merged && i < b->tiles; i++) b->pitch[i] = a->dil_h * row_len * pixel * size;
  if (b->edge) memset(b->edge, CONV_INSIDE, (size_t)(b->tiles * (s->taps + 1)));
  int64_t tile = 0, lane = 0, full = tile_pixels(b, 0);
  const char **to = b->pixel;
  for (int64_t u = u0; u < u1; u++) {
    int64_t n = u / s->cuts / a->Ho, ho = u / s->cuts % a->Ho, top = ho * a->stride_h - a->pad_h;
    const char *base;
    if (s->window) {
      // Rows of the window: those of this output row that the one before has not copied.
      int64_t first = u > u0 && ho > 0 ? s->span_h - s->hs : 0;
      if (u > u0) wrow += ho > 0 ? s->hs : s->span_h;
      for (int64_t r = first; r < s->span_h; r++)
        copy_row(s, b->g, n, top + r, left, wide, b->window + (wrow + r) * wide * pixel);
      if (known) continue;
      base = (const char *)(b->window + wrow * wide * pixel);
    } else {
      base = (const char *)((const xt *)a->x + ((n * a->H + top) * a->W + left) * pixel + b->g * s->cg);
    }
    // Columns j0 .. j1-1 see the image (or its copy) alone where the rows do: runs of neighbours; others are tested tap by tap.
    const int64_t step = a->stride_w * pixel * size, room = a->W - left - (a->S - 1) * a->dil_w;
    const int inside = s->window || (top >= 0 && top + s->span_h <= a->H);
    const int64_t j0 = s->window || left >= 0 ? 0 : ceil_div(-left, a->stride_w), j1 = !inside ? 0 : s->window ? cols : ceil_div(room, a->stride_w);
    for (int64_t j = 0; j < cols;) {
      if (lane == full) lane = 0, full = tile_pixels(b, ++tile), to += s->listed * s->mr;
      const char *at = base + j * step;
      if (j >= j0 && j < j1) {
        int64_t m = full - lane < cols - j ? full - lane : cols - j;
        m = m < j1 - j ? m : j1 - j;
        for (int64_t t = 0; t < s->listed; t++)
          for (int64_t l = 0; l < m; l++) to[t * s->mr + lane + l] = at + b->tap[t] + l * step;
        j += m, lane += m;
        continue;
      }
      if (b->edge) b->edge[tile * (s->taps + 1)] = 1;
      for (int64_t t = 0; t < s->taps; t++) {
        int64_t h = top + t / S * a->dil_h, w = left + j * a->stride_w + t % S * a->dil_w;
        to[t * s->mr + lane] = h >= 0 && h < a->H && w >= 0 && w < a->W ? at + b->tap[t] : b->zero;
      }
      j++, lane++;
    }
  }
  if (b->edge) find_edges(s, b);
}

// Finishes pixels i0 .. i1-1 of panel p of the block from its sums.
RIDGE_VT static void finish(const shape *s, const block *b, const me *sums, int64_t p, int64_t i0, int64_t i1) {
  const ridge_conv_args *a = s->a;
  int64_t k0 = b->g * s->kg + panel_channel(s, p), n = panel_channels(s, p), P = a->Ho * a->Wo, ld = sums_pitch(s);
  if (a->layout == 1) {
#if defined(CONV_MASKS)
    const int64_t all = (i1 - i0) * n, at = (b->q0 + i0) * a->K + k0;
    const yt *bias = a->bias ? (const yt *)a->bias + k0 : NULL;
    const float *scale = a->scale ? a->scale + k0 : NULL;
    for (int64_t l = 0; s->few && l < all; l += VL) // pixels follow each other in sums and y, their channels in turn
      finish_column(a, bias ? b->biases + l % n : NULL, scale ? b->scales + l % n : NULL, sums + i0 * ld + l, 0, 1, at + l, all - l < VL ? all - l : VL);
    for (int64_t l = 0; !s->few && l < n; l += VL)
      finish_column(a, bias ? bias + l : NULL, scale ? scale + l : NULL, sums + i0 * ld + l, ld, i1 - i0, at + l, n - l < VL ? n - l : VL);
#else
    for (int64_t i = i0; i < i1; i++) {
      int64_t l = 0, at = (b->q0 + i) * a->K + k0;
      for (; l + VL <= n; l += VL) finish_vector(a, *(const mv_any *)(sums + i * ld + l), k0 + l, 1, at + l);
      for (; l < n; l++) finish_one(a, sums[i * ld + l], k0 + l, at + l);
    }
#endif
    return;
  }
  for (int64_t i = i0, m; i < i1; i += m) { // pixels of one image
    int64_t q = b->q0 + i, img = q / P, left = P - q % P, j = 0;
    m = i1 - i < left ? i1 - i : left;
    int64_t at = (img * a->K + k0) * P + q % P;
    // The residual's next pixels but one, a row for each channel: more rows than hardware follows. 64x56x56, 3x3, bf16, batch 16: the whole call 1.03 to 1.04.
    for (int64_t l = 0; a->residual && l < n; l++) __builtin_prefetch((const yt *)a->residual + at + l * P + m + 16);
    for (; j + VL <= m && n % 4 == 0; j += VL)
      for (int64_t l = 0; l < n; l += 4) {
        mv out[4];
        turn_sums(sums + (i + j) * ld + l, ld, out);
        RIDGE_UNROLL_ALL
        for (int c = 0; c < 4; c++) finish_pixels(a, out[c], k0 + l + c, at + (l + c) * P + j);
      }
    for (; j < m; j++)
      for (int64_t l = 0; l < n; l++) finish_one(a, sums[(i + j) * ld + l], k0 + l, at + l * P + j);
  }
}

#if defined(CONV_FEW)
// Tiles of few channels have all their pixels: behind a smaller one's, its last again.
static void repeat_last(const shape *s, block *b) {
  const char **to = b->pixel;
  for (int64_t i = 0; s->few && i < b->tiles; i++)
    for (int64_t t = 0, n = tile_pixels(b, i); t < s->listed; t++, to += s->mr)
      for (int64_t l = n; l < s->mr; l++) to[l] = to[n - 1];
}
#endif

// Of n channels those that do not fill a vector: masks end them in the tile, or all are kept.
RIDGE_INLINE void keep_rest(const shape *s, int64_t n, tile *t) {
#if defined(CONV_MASKS)
  t->tail = s->few ? 0 : n % VL, t->keep = s->few > 0;
#else
  (void)s;
  t->keep = n % VL != 0;
#endif
}

// One tile times a panel of so many vectors.
RIDGE_INLINE void run(const shape *s, int64_t mr, int64_t vectors, tile *t) {
#if defined(CONV_FEW)
  if (s->few) {
    t->pixels = mr;
    run_few(s->few, t);
    return;
  }
#endif
  (void)s;
  run_tile(mr, vectors, t);
}

// Where the pixels of tile j, from pixel `from` of the block on, are found.
RIDGE_INLINE const char *const *pixels_of(const shape *s, const block *b, int64_t j, int64_t from, int64_t mr, int64_t t0, const char *row[RIDGE_WIDE]) {
  if (!s->regular) return (const char *const *)b->pixel + (j * s->listed + t0) * s->mr;
  const int64_t step = s->a->C * (int64_t)sizeof(xt);
  const char *at = (const char *)s->a->x + (b->q0 + from) * step + b->g * s->cg * (int64_t)sizeof(xt);
  for (int64_t i = 0; i < s->mr; i++) row[i] = at + (i < mr ? i : mr - 1) * step;
  return row;
}

// During the product of tile j with part i of n of its panels, part i of the next tile's pixels is asked for, where that is worth it. They follow
// the tile's in memory (regular: within the product, one line with each element), or pointers lead to them: then before it.
RIDGE_INLINE void ask_ahead(const shape *s, const block *b, int64_t j, int64_t mr, int64_t i, int64_t n, tile *t) {
  t->ahead = (const char *)t->panel, t->pace = 0;
  if (!s->ahead) return;
  const int64_t bytes = s->len * (int64_t)sizeof(xt);
  if (s->regular) {
    t->pace = ceil_div(s->mr * (int64_t)sizeof(me), n), t->ahead = t->pixel[0] + mr * bytes + i * t->pace * t->run;
    return;
  }
  if (j + 1 == b->tiles) return;
  const char *const *pixel = (const char *const *)b->pixel + (j + 1) * s->mr;
  for (int64_t at = bytes * i / n / 64 * 64; at < bytes * (i + 1) / n; at += 64)
    for (int64_t l = 0, pixels = tile_pixels(b, j + 1); l < pixels; l++) __builtin_prefetch(pixel[l] + at);
}

#if defined(CONV_EVEN)
// Panels p0 .. p1-1 of the block's pixels, which follow each other: all tiles of one size by as many panels as are alike at once, or panel by panel where they stay in L1.
RIDGE_VT static void given_even(const shape *s, const block *b, int64_t p0, int64_t p1, tile *t) {
  const ridge_conv_args *a = s->a;
  const int64_t pitch = a->C * (int64_t)sizeof(xt);
  for (int64_t p = p0; p < p1; p += t->panels) {
    const int64_t width = panel_width(s, p), n = panel_channels(s, p), bytes = s->depth * width * VL * (int64_t)sizeof(me);
    const char *row[RIDGE_WIDE];
    t->panel = (const me *)a->packed + (b->g * s->vectors + panel_first(s, p)) * s->depth * VL;
    keep_rest(s, n, t), t->k = b->g * s->kg + panel_channel(s, p), t->panels = 1;
    for (int64_t i = p + 1; i < p1 && bytes > CONV_NEAR && b->small >= EVEN_PIXELS && width >= EVEN_VECTORS && n % VL == 0 && panel_width(s, i) == width && panel_channels(s, i) == n; i++) t->panels++;
    for (int64_t j = 0, from = 0; j < b->tiles; j += t->tiles) {
      const int64_t mr = tile_pixels(b, j);
      t->pixel = pixels_of(s, b, j, from, mr, 0, row), t->at = (b->q0 + from) * a->K + t->k, t->next = mr * a->K, t->down = mr * pitch;
      t->tiles = 1;
      ask_ahead(s, b, j, mr, 0, t->panels, t);
      if (p > p0) t->pace = 0;
      if (t->pace == 0 && s->panels * bytes > CONV_FAR && t->panels == p1 - p0) { // the panels that come next
        t->pace = ceil_div(bytes, b->tiles * t->run);
        t->ahead = (const char *)t->panel + t->panels * (bytes + bytes * from / b->pixels);
      }
      if (even_can(mr, width, t)) {
        t->tiles = j < b->larger ? b->larger : b->tiles - j;
        run_even(mr, width, t, pitch);
      } else {
        run(s, mr, width, t);
        if (t->keep) finish(s, b, b->sums - from * sums_pitch(s), p, from, from + mr);
      }
      from += t->tiles * mr;
    }
  }
}
#endif
// Panels p0 .. p1-1 of the block's pixels where they come packed beforehand: tile by tile, each times as many panels as stay in L2, so that
// a tile's pixels stay in L1 and its rows of y are written from one end to the other.
RIDGE_VT static void task_given(const shape *s, const block *b, int64_t p0, int64_t p1) {
  const ridge_conv_args *a = s->a;
  const int64_t panel = s->depth * panel_width(s, 0) * VL, fit = CONV_GIVEN / (panel * (int64_t)sizeof(me)), groups = ceil_div(p1 - p0, fit < 1 ? 1 : fit);
  tile t = {.taps = s->taps, .run = packed(s->len), .half = s->half, .advance = s->merged ? 0 : s->mr, .zero = s->skips ? b->zero : NULL, .a = a, .sums = b->sums, .far = s->far};
#if defined(CONV_TWOS)
  // Few panels that each stay in L1 go panel by panel over all pixels, which a busy neighbour disturbs less: Zen 3, 64x56x56 to 64 1.02 to 1.06, 256x56x56 to
  // 64 1.00 to 1.04, to 128 1.00 to 1.03; many or larger ones lose (128x28x28 to 512 0.98, 512x28x28 to 256 0.98).
  if (s->regular && t.run > TWOS_ELEMENTS && s->kg % NR == 0 && p1 - p0 <= 8 && panel * (int64_t)sizeof(me) <= 16 << 10) {
    const char *row[RIDGE_WIDE];
    for (int64_t p = p0; p < p1; p++)
      for (int64_t j = 0, from = 0; j < b->tiles; j += t.panels) {
        const int64_t mr = tile_pixels(b, j);
        t.panels = j < b->larger ? b->larger : b->tiles - j;
        t.pixel = pixels_of(s, b, j, from, mr, 0, row), t.down = mr * a->C * (int64_t)sizeof(xt);
        t.panel = (const me *)a->packed + (b->g * s->panels + p) * panel;
        t.next = mr * a->K, t.k = b->g * s->kg + p * NR, t.at = (b->q0 + from) * a->K + t.k;
        if (mr == 6) twos_six(&t, twos_pitch(&t));
        else run_tile(mr, RIDGE_NV, &t);
        from += t.panels * mr;
      }
    return;
  }
#endif
  for (int64_t i = 0; i < groups; i++) {
    const int64_t first = p0 + (p1 - p0) * i / groups, end = p0 + (p1 - p0) * (i + 1) / groups, channel = panel_channel(s, first);
    const me *start = (const me *)a->packed + (b->g * s->vectors + panel_first(s, first)) * s->depth * VL;
#if defined(CONV_EVEN)
    if (s->regular) {
      given_even(s, b, first, end, &t);
      continue;
    }
#endif
    for (int64_t j = 0, from = 0, mr; j < b->tiles; j++, from += mr) {
      mr = tile_pixels(b, j);
      const char *row[RIDGE_WIDE];
      t.pitch = s->merged ? b->pitch[j] : 0, t.pixel = pixels_of(s, b, j, from, mr, 0, row), t.edge = edges_of(s, b, j, 0);
      t.panel = start, t.k = b->g * s->kg + channel, t.at = (b->q0 + from) * a->K + t.k;
      for (int64_t p = first, n; p < end; p++, t.k += n, t.at += n) {
        const int64_t width = panel_width(s, p), left = (b->g + 1) * s->kg - t.k;
        n = left < width * VL ? left : width * VL;
        ask_ahead(s, b, j, mr, p - first, end - first, &t);
        t.next = p + 1 < end ? n : mr * a->K - (t.k - b->g * s->kg - channel);
        keep_rest(s, n, &t), t.panels = t.tiles = 1;
#if defined(CONV_TWOS)
        if (t.run >= TWOS_ELEMENTS && n >= NR) { // whole panels in one call
          t.panels = end - p < left / NR ? end - p : left / NR;
          p += t.panels - 1, n = t.panels * NR;
          t.next = p + 1 < end ? NR : mr * a->K - (p - first) * NR;
          const int64_t pitch = mr == 6 ? twos_pitch(&t) : 0;
          if (pitch) {
            twos_six(&t, pitch);
            t.panel += t.panels * panel;
            continue;
          }
        }
#endif
#if defined(CONV_EVEN)
        const int64_t pitch = t.run >= 192 ? even_can(mr, width, &t) : 0; // fewer elements do not pay for the way there: 16x19x19 to 200 of step 2 0.78
        if (pitch) {
          while (p + t.panels < end && panel_width(s, p + t.panels) == width && panel_channels(s, p + t.panels) == n) t.panels++;
          p += t.panels - 1;
          run_even(mr, width, &t, pitch);
          n *= t.panels, t.panel += t.panels * width * s->depth * VL;
          continue;
        }
#endif
        run(s, mr, width, &t);
        if (t.keep) finish(s, b, b->sums - from * sums_pitch(s), p, from, from + mr);
        t.panel += t.panels * width * s->depth * VL;
      }
    }
  }
}

// One task: units u0 .. u1-1, panels p0 .. p1-1 of group g.
RIDGE_VT static void task(const shape *s, block *b, int64_t g, int64_t u0, int64_t u1, int64_t p0, int64_t p1) {
  const ridge_conv_args *a = s->a;
  b->g = g;
  locate(s, b, u0, u1);
#if defined(CONV_FEW)
  if (!s->regular) repeat_last(s, b);
#endif
  int by_rows = a->layout == 1 && (a->act == RIDGE_ACT_NONE || a->act == RIDGE_ACT_RELU);
  if (s->given && s->slabs == 1 && by_rows) {
    task_given(s, b, p0, p1);
    return;
  }
  for (int64_t i = 0, row = 0; i < s->slabs; i++) {
    const slab e = slab_at(s, i);
    const int64_t last = i == s->slabs - 1;
    const me *given = s->given ? (const me *)a->packed + g * s->vectors * s->depth * VL : NULL;
    tile t = {.taps = e.t1 - e.t0, .run = packed(e.e1 - e.e0), .half = s->half, .advance = s->merged ? 0 : s->mr, .zero = s->skips ? b->zero : NULL, .from = e.e0 / PAIR, .panel = b->panel, .add = i > 0, .a = a, .next = MR * a->K, .far = s->far, .panels = 1};
    for (int64_t p = p0; p < p1; p++) {
      me *sums = b->sums + (s->slabs > 1 ? (p - p0) * b->pixels * NR : 0);
      if (s->given) t.panel = given + (panel_first(s, p) * s->depth + row * panel_width(s, p)) * VL;
      else if (s->kept) t.panel = b->panel + p * (s->rows + HEAD) * NR;
      if (!s->given && (!s->kept || !b->have[p])) pack_panel(s, g, p, e.t0, e.t1, e.e0, e.e1, b->order, (me *)t.panel);
      int ask = p + 1 < p1 && !s->given && !(s->kept && b->have[p + 1]);
      b->have[s->kept ? p : 0] = 1;
      if (last && by_rows) keep_rest(s, panel_channels(s, p), &t);
      else t.keep = 1;
      t.k = g * s->kg + panel_channel(s, p);
      int64_t done = 0; // pixels finished: as many as are ready, in whole cache lines of NCHW rows
      for (int64_t j = 0, from = 0, mr; j < b->tiles; j++, from += mr) {
        mr = tile_pixels(b, j);
        if (ask) fetch_panel(s, g, p + 1, e.t0, e.t1, e.e0, e.e1, j, b->tiles);
        const char *row[RIDGE_WIDE];
        t.pitch = s->merged ? b->pitch[j] : 0, t.pixel = pixels_of(s, b, j, from, mr, e.t0, row), t.edge = edges_of(s, b, j, e.t0);
        t.sums = sums + from * sums_pitch(s), t.at = (b->q0 + from) * a->K + t.k;
        t.ahead = (const char *)t.panel, t.pace = 0;
        if (p == p0) ask_ahead(s, b, j, mr, 0, 1, &t);
        run(s, mr, panel_width(s, p), &t);
        int64_t ready = j == b->tiles - 1 ? b->pixels : (from + mr) / 16 * 16;
        if (last && t.keep && ready > done) finish(s, b, sums, p, done, ready), done = ready;
      }
    }
    row += slab_rows(s, &e);
  }
}

int64_t CONV_CAT(CONV_FN, _packed)(const void *args, int32_t nthreads) {
  shape s = shape_of(args, nthreads);
  return s.a->groups * s.vectors * s.depth * VL * (int64_t)sizeof(me);
}

// All panels to a->packed; threads share them.
RIDGE_VT int CONV_CAT(CONV_FN, _pack)(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  shape s = shape_of(a, ctx->nthreads);
  if (ctx->workspace_bytes < ctx->nthreads * s.bytes) return RIDGE_E_WORKSPACE;
  if (a->N * a->Ho * a->Wo == 0) return RIDGE_OK;
  xt *order = block_of(&s, (char *)ctx->workspace + ctx->tid * s.bytes).order;
  int64_t from, to;
  ridge_share(a->groups * s.panels, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    const int64_t g = u / s.panels, p = u % s.panels;
    me *dst = (me *)a->packed + (g * s.vectors + panel_first(&s, p)) * s.depth * VL;
    for (int64_t i = 0; i < s.slabs; i++) {
      const slab e = slab_at(&s, i);
      pack_panel(&s, g, p, e.t0, e.t1, e.e0, e.e1, order, dst);
      dst += slab_rows(&s, &e) * panel_width(&s, p) * VL;
    }
  }
  return RIDGE_OK;
}

RIDGE_VT int CONV_FN(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  shape s = shape_of(a, ctx->nthreads);
  if (ctx->workspace_bytes < ctx->nthreads * s.bytes) return RIDGE_E_WORKSPACE;
  if (a->N * a->Ho * a->Wo == 0) return RIDGE_OK;
  block b = block_of(&s, (char *)ctx->workspace + ctx->tid * s.bytes);
  memset(b.have, 0, (size_t)(s.kept ? s.panels : 1));
  memset(b.zero, 0, (size_t)packed(s.len) * sizeof(me));
  for (int64_t l = 0; s.few && l < VL + s.few; l++) {
    if (a->bias) b.biases[l] = ((const yt *)a->bias)[l % s.few];
    if (a->scale) b.scales[l] = a->scale[l % s.few];
  }
  int64_t from, to;
  ridge_share(a->groups * s.ps * s.cs, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    int64_t c = u % s.cs, g = u / s.cs % a->groups, p = u / s.cs / a->groups;
    task(&s, &b, g, s.units * p / s.ps, s.units * (p + 1) / s.ps, s.panels * c / s.cs, s.panels * (c + 1) / s.cs);
  }
  return RIDGE_OK;
}
