// The body of conv2d_*_winograd43: 3x3 convolution of step 1 by Winograd's F(4x4, 3x3)
//
//   Y = A^T [ sum over c of (G w G^T) . (B^T d B) ] A      for every 4x4 block of outputs, d its 6x6 inputs
//
// 36 products per channel for 16 outputs instead of 144: a quarter of the direct multiplications. The points are
// 0, +-5/8, +-5/4 and infinity.
//
// Tiles (4x4 outputs) are taken in blocks whose transformed inputs V[36][tile][C] are at most VMAX floats (2 MiB: they
// stay in L3). All threads transform a block's inputs, meet, and share the panels of NR channels: a thread
// transforms its panel's filters U[36][C][NR] into its own scratch, so that no more than one panel of them exists at once (all of
// them are four times the filters and would go to DRAM), multiplies 36 matrices [tiles x C] * [C x NR] into
// M[36][tiles][NR] for a sub-block of tiles (in L2), and transforms that to outputs with bias, residual and activation.
//
// Outputs would wait for their lines: 32 of y for a tile and panel of 32 channels and as many of a residual, from L3 or DRAM. They are asked for into L2
// between the last quarter of the products. In NCHW a tile has 4 columns of each channel's row, a quarter of a line: the outputs of up to LONG
// tiles of a row of tiles (a stretch) go to scratch in L1, and from there each channel's rows, neighbours in memory where the stretch
// is as wide as the image, are ended and written as whole vectors, by code for one end.
//
// Where each thread has APART tiles or more they share nothing: each transforms all filters, and its own tiles alone. Lines of V
// that the other core has just written then cost more than filters transformed twice (docs/kernels/conv.md).
//
// Filters transformed beforehand (`packing`) lie as U of one panel after another, 4 times the filters, and are read from there: nothing is
// transformed or kept twice in the call. Zen 5, two threads: 1.04 (64 channels of 56x56), 1.16 (128 of 28x28), 1.45 times (256 of 14x14).
//
// FLOP 2*36*C*K a tile, against 288*C*K direct; in units of a vector of 8: inputs 144 additions and
// multiply-adds, 36 loads and stores; outputs 100, 36 loads and 16 stores; filters 72 and 36 stores. Images whose sides are no
// multiples of 4 waste the rest of their last tiles: 1.31 at 14 and 7.
// Where it wins: table.c's ridge_conv_winograd_wins.
//
// bf16: inputs and filters are widened to fp32 as they are loaded, everything between is fp32, and outputs are rounded once. A rounding of V or U
// to bf16 would be enlarged by the transforms as theirs are: 13.8 u of bf16.
//
// Error: the transforms enlarge rounding errors; worst found: 13.8 u of sum |x*w| (kernels.def), at corners of
// the image, whose outputs have few products but the error of the whole tile. The usual points 0, +-1, +-2 gave 54.
// Source: Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks".
#include "conv_tile.h"

#ifndef CONV_VMAX
#define CONV_VMAX (512 << 10)
#endif
#ifndef CONV_APART
#define CONV_APART (1 << 30)
#endif
// TS: tiles of a sub-block, at most; LONG: of a stretch (below); ASK: the position from whose product on the lines of y are asked for; LINE_X: elements of
// x or w in a cache line.
enum { VMAX = CONV_VMAX, TS = 56, LONG = 16, POS = 36, ASK = 27, APART = CONV_APART, LINE_X = 64 / sizeof(xt) };

typedef struct plan {
  const ridge_conv_args *a;
  int64_t across, per, tiles; // tiles of a row, of an image, of all
  int apart;                  // threads have their own tiles and V
  int64_t block, blocks;      // tiles of a block, blocks
  int64_t panels, splits;     // panels of channels; parts of a block's tiles
  int64_t v_pos, u_pos, m_pos; // elements from one position to the next, a line more than they hold: whole multiples
                               // of 4 KiB would meet in one set of L1
  int64_t wide;                // NCHW: columns of a thread's window, 6 input rows as pixels of channels
  int64_t shared, own;         // bytes of V, and of each thread
} plan;

// Elements from one channel's outputs of a stretch to the next, in scratch.
RIDGE_INLINE int64_t ends_ld(int64_t cols) { return (cols * 4 + 4 + 15) / 16 * 16 + 16; }

static plan plan_of(const ridge_conv_args *a, int nthreads) {
  plan p = {.a = a, .across = ceil_div(a->Wo, 4)};
  p.per = p.across * ceil_div(a->Ho, 4), p.tiles = a->N * p.per;
  int64_t most = VMAX / (POS * a->C) > MR ? VMAX / (POS * a->C) : MR;
  p.apart = nthreads > 1 && p.tiles >= (int64_t)APART * nthreads;
  int64_t tiles = p.apart ? ceil_div(p.tiles, nthreads) : p.tiles; // of a thread, or of all
  p.blocks = ceil_div(tiles, most), p.block = p.blocks > 0 ? ceil_div(tiles, p.blocks) : 0;
  p.panels = a->K / NR, p.splits = p.apart ? 1 : ceil_div(nthreads, p.panels);
  p.v_pos = p.block * a->C + 16, p.u_pos = a->C * NR + 16, p.m_pos = TS * NR + 16;
  p.shared = (p.apart ? nthreads : 1) * ridge_apart(POS * p.v_pos * (int64_t)sizeof(float));
  p.wide = a->layout == 0 ? p.across * 4 + 2 : 0;
  p.own = ridge_apart((POS * ((a->packing ? 0 : p.u_pos) + p.m_pos) + a->C + 6 * p.wide * a->C + VL * ends_ld(LONG * 4)) * (int64_t)sizeof(float));
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

// The points: 0, +-PA, +-PB and infinity. Squares and products of 5/8 and 5/4 are exact in fp32.
#define PA 0.625f
#define PB 1.25f

// B^T d of one column or row: the coefficients of prod (x - other points).
RIDGE_INLINE RIDGE_VT void turn_in(const mv d[6], mv t[6]) {
  mv a = d[4] - PB * PB * d[2], b = d[3] - PB * PB * d[1], c = d[4] - PA * PA * d[2], e = d[3] - PA * PA * d[1];
  t[0] = PA * PA * PB * PB * d[0] + (d[4] - (PA * PA + PB * PB) * d[2]);
  t[1] = a + PA * b, t[2] = a - PA * b;
  t[3] = c + PB * e, t[4] = c - PB * e;
  t[5] = PA * PA * PB * PB * d[1] + (d[5] - (PA * PA + PB * PB) * d[3]);
}

// A^T m: powers of the points. The inner factors are 2, 4 and 8, whose products are exact, so that every copy of this code rounds alike, whichever
// product a compiler fuses with a sum.
RIDGE_INLINE RIDGE_VT void turn_out(const mv m[6], mv y[4]) {
  mv a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
  y[0] = m[0] + a + c, y[1] = PA * (b + PB / PA * d);
  y[2] = PA * PA * (a + PB * PB / (PA * PA) * c), y[3] = m[5] + PA * PA * PA * (b + PB * PB * PB / (PA * PA * PA) * d);
}

// G g: (g0 + p g1 + p^2 g2) / prod (p - other points).
RIDGE_INLINE RIDGE_VT void turn_filter(const mv g[3], mv u[6]) {
  const float na = 1 / (2 * PA * PA * (PA * PA - PB * PB)), nb = 1 / (2 * PB * PB * (PB * PB - PA * PA));
  mv a = na * g[0] + na * PA * PA * g[2], b = na * PA * g[1], c = nb * g[0] + nb * PB * PB * g[2], d = nb * PB * g[1];
  u[0] = 1 / (PA * PA * PB * PB) * g[0], u[1] = a + b, u[2] = a - b, u[3] = c + d, u[4] = c - d, u[5] = g[2];
}

// NCHW: copies the 6 input rows of a row of tiles, turned, with their padding.
RIDGE_VT static void copy_rows(const plan *p, int64_t tile, float *window) {
  const ridge_conv_args *a = p->a;
  int64_t top = tile % p->per / p->across * 4 - a->pad_h, C = a->C;
  int64_t c0 = a->pad_w < p->wide ? a->pad_w : p->wide, c1 = a->pad_w + a->W < p->wide ? a->pad_w + a->W : p->wide;
  const xt *image = (const xt *)a->x + tile / p->per * C * a->H * a->W;
  for (int64_t h = top; h < top + 6; h++, window += p->wide * C) {
    int inside = h >= 0 && h < a->H;
    memset(window, 0, (size_t)((inside ? c0 : p->wide) * C) * sizeof(float));
    if (!inside) continue;
    turn_row(image + h * a->W, a->H * a->W, C, c1 - c0, C, window + c0 * C);
    memset(window + c1 * C, 0, (size_t)((p->wide - c1) * C) * sizeof(float));
  }
}

// VL neighbouring elements of x or, of a thread's window, in fp32.
RIDGE_INLINE RIDGE_VT mv input_at(const void *from, int64_t c, const int window) {
#if defined(CONV_BF16)
  if (!window) return (mv)ridge_bf16_load((const xt *)from + c);
#endif
  (void)window;
  return *(const mv_any *)((const float *)from + c);
}

// Transforms the inputs of one tile, VL channels from each of `at`, to v and on from position to position.
RIDGE_INLINE RIDGE_VT void turn_inputs(const plan *p, const void *const at[POS], float *v, const int window) {
  for (int64_t c = 0; c < p->a->C; c += VL, v += VL) {
    mv t[6][6];
    for (int w = 0; w < 6; w++) {
      mv d[6], col[6];
      RIDGE_UNROLL_ALL
      for (int h = 0; h < 6; h++) d[h] = input_at(at[h * 6 + w], c, window);
      turn_in(d, col);
      RIDGE_UNROLL_ALL
      for (int h = 0; h < 6; h++) t[h][w] = col[h];
    }
    float *to = v;
    for (int h = 0; h < 6; h++) {
      mv row[6];
      turn_in(t[h], row);
      RIDGE_UNROLL_ALL
      for (int w = 0; w < 6; w++, to += p->v_pos) *(mv_any *)to = row[w];
    }
  }
}

// Transforms the inputs of one tile to V[.][i][.] of the block.
RIDGE_VT static void inputs(const plan *p, int64_t tile, int64_t i, const float *zeros, const float *window, float *V) {
  const ridge_conv_args *a = p->a;
  const void *at[POS];
  const xt *image = (const xt *)a->x + tile / p->per * a->H * a->W * a->C;
  int64_t top = tile % p->per / p->across * 4 - a->pad_h, left = tile % p->across * 4 - a->pad_w, C = a->C;
  for (int64_t h = 0; h < 6; h++)
    for (int64_t w = 0; w < 6; w++) {
      int inside = top + h >= 0 && top + h < a->H && left + w >= 0 && left + w < a->W;
      at[h * 6 + w] = a->layout == 0 ? (const void *)(window + (h * p->wide + tile % p->across * 4 + w) * C)
                      : inside       ? (const void *)(image + ((top + h) * a->W + left + w) * C)
                                     : zeros;
    }
  if (a->layout == 0 || sizeof(xt) == sizeof(float)) turn_inputs(p, at, V + i * C, 1);
  else turn_inputs(p, at, V + i * C, 0);
}

// Transforms the filters of NR channels from k.
RIDGE_VT static void filters(const plan *p, int64_t k, float *U) {
  int64_t C = p->a->C;
  const xt *w = (const xt *)p->a->w + k * 9 * C;
  for (int64_t c = 0; c < C; c += 4)
    for (int v = 0; v < RIDGE_NV; v++) {
      mv g[9][4];
      for (int t = 0; t < 9; t++) {
        // More streams than hardware follows: lines of four of these filters, the next line of this tap or those four lines on.
        for (int l = 0; l < 4; l++) {
          const xt *row = w + (v * VL + (p->a->layout == 1 ? c & 12 : t % 4 * 4) + l) * 9 * C;
          __builtin_prefetch(p->a->layout == 1 ? row + t * C + (c | (LINE_X - 1)) + 1 : row + c * 9 + 4 * LINE_X + t / 4 * LINE_X, 0, 2);
        }
        if (p->a->layout == 1) {
          turn_elements(w + v * VL * 9 * C + t * C + c, 9 * C, g[t]);
          continue;
        }
        mv four[4]; // elements 4t .. 4t+3 of four channels' nine taps
        turn_elements(w + v * VL * 9 * C + c * 9 + t * 4, 9 * C, four);
        for (int j = 0; j < 4; j++) g[(4 * t + j) % 9][(4 * t + j) / 9] = four[j];
      }
      for (int j = 0; j < 4; j++) {
        mv t[6][3];
        RIDGE_UNROLL_ALL
        for (int s = 0; s < 3; s++) {
          mv col[3] = {g[s][j], g[3 + s][j], g[6 + s][j]}, u[6];
          turn_filter(col, u);
          RIDGE_UNROLL_ALL
          for (int h = 0; h < 6; h++) t[h][s] = u[h];
        }
        float *to = U + (c + j) * NR + v * VL;
        for (int h = 0; h < 6; h++) {
          mv u[6];
          turn_filter(t[h], u);
          RIDGE_UNROLL_ALL
          for (int s = 0; s < 6; s++, to += p->u_pos) *(mv_any *)to = u[s];
        }
      }
    }
}

// Where outputs of tiles that neighbour in a row lie.
typedef struct stretch {
  int64_t image, at, rows, cols, next; // image; place of the first pixel in it; rows and columns; the tile behind
} stretch;

// The tiles of first's row that are below end, LONG at most.
RIDGE_INLINE stretch stretch_of(const plan *p, int64_t first, int64_t end) {
  const ridge_conv_args *a = p->a;
  int64_t row = first / p->across, across = first % p->across, down = p->per / p->across;
  stretch s = {.image = row / down, .next = (row + 1) * p->across < end ? (row + 1) * p->across : end};
  if (s.next > first + LONG) s.next = first + LONG;
  int64_t ho = row % down * 4, wo = across * 4, n = (s.next - first) * 4;
  s.at = ho * a->Wo + wo, s.rows = a->Ho - ho < 4 ? a->Ho - ho : 4, s.cols = a->Wo - wo < n ? a->Wo - wo : n;
  return s;
}

// Into L2: L1 cannot hold the outputs of a sub-block.
RIDGE_INLINE void fetch(const yt *from, int64_t n) {
  for (int64_t i = 0; i < n; i += 64 / (int64_t)sizeof(yt)) __builtin_prefetch(from + i, 0, 2);
  __builtin_prefetch(from + n - 1, 0, 2);
}

// Asks for the lines of array (y or the residual) in which the outputs of a stretch's part u lie, NR channels from k. NCHW: part u is channel k + u,
// NHWC: it is tile u.
RIDGE_INLINE void fetch_part(const plan *p, const yt *array, const stretch *s, int64_t u, int64_t k) {
  const ridge_conv_args *a = p->a;
  const int64_t P = a->Ho * a->Wo;
  if (a->layout == 1) {
    for (int64_t h = 0; h < s->rows; h++)
      for (int64_t w = u * 4; w < s->cols && w < u * 4 + 4; w++)
        fetch(array + (s->image * P + s->at + h * a->Wo + w) * a->K + k, NR);
    return;
  }
  const yt *from = array + (s->image * a->K + k + u) * P + s->at;
  if (s->cols == a->Wo) fetch(from, s->rows * s->cols);
  else for (int64_t h = 0; h < s->rows; h++) fetch(from + h * a->Wo, s->cols);
}

// The first half of a tile's outputs, VL channels: t = A^T M, columns alone.
RIDGE_INLINE RIDGE_VT void columns_out(const plan *p, const float *m, mv t[4][6]) {
  RIDGE_UNROLL_ALL
  for (int w = 0; w < 6; w++) {
    mv d[6], y[4];
    RIDGE_UNROLL_ALL
    for (int h = 0; h < 6; h++) d[h] = *(const mv_any *)(m + (h * 6 + w) * p->m_pos);
    turn_out(d, y);
    RIDGE_UNROLL_ALL
    for (int h = 0; h < 4; h++) t[h][w] = y[h];
  }
}

// NHWC: the outputs of a tile, rows x cols pixels from q of y (and of the residual), NR channels from k.
RIDGE_INLINE RIDGE_VT void pixels_out(const plan *p, const float *m, int64_t q, const int64_t rows, const int64_t cols, int64_t k) {
  const ridge_conv_args *a = p->a;
  for (int v = 0; v < RIDGE_NV; v++, m += VL, k += VL) {
    mv t[4][6];
    columns_out(p, m, t);
    for (int64_t h = 0; h < rows; h++) {
      mv y[4];
      turn_out(t[h], y);
      for (int64_t w = 0; w < cols; w++) finish_channels(a, y[w], k, (q + h * a->Wo + w) * a->K + k);
    }
  }
}

// NCHW: a tile's outputs, VL channels, to rows of planes that lie ld apart; whole quads, whatever they cover.
RIDGE_INLINE RIDGE_VT void planes_out(const plan *p, const float *m, float *plane, int64_t ld, int64_t pitch) {
  mv t[4][6];
  columns_out(p, m, t);
  RIDGE_UNROLL_ALL
  for (int h = 0; h < 4; h++, plane += pitch) {
    mv y[4], turned[4];
    turn_out(t[h], y);
    CONV_TURN(turned, y[0], y[1], y[2], y[3]); // lane group g of turned[j]: channel 4g + j
    RIDGE_UNROLL_ALL
    for (int j = 0; j < 4; j++) {
      RIDGE_UNROLL_ALL
      for (int g = 0; g < VL / 4; g++) memcpy(plane + (4 * g + j) * ld, (const float *)&turned[j] + 4 * g, sizeof(quad));
    }
  }
}

// The end of VL outputs from element i on. bias, residual: there is one.
RIDGE_INLINE RIDGE_VT mv end_at(const float *from, int64_t i, const int bias, float b, const int residual, const yt *res, const int act) {
  mv v = *(const mv_any *)(from + i);
  if (bias) v += splat(b);
  if (residual) v += load_out(res + i);
  return act == RIDGE_ACT_NONE || act == RIDGE_ACT_RELU ? activate(v, act) : activate_slowly(v, act);
}

// n neighbours of a channel's plane: y = act(from + b + res).
RIDGE_INLINE RIDGE_VT void end_run(const float *from, int64_t n, const int bias, float b, const int residual, const yt *res, const int act, yt *y) {
  if (n < VL) {
    float lanes[VL] = {0};
    yt of_res[VL] = {0}, of_y[VL];
    memcpy(lanes, from, (size_t)n * sizeof(float));
    if (residual) memcpy(of_res, res, (size_t)n * sizeof(yt));
    store_out(of_y, end_at(lanes, 0, bias, b, residual, of_res, act));
    memcpy(y, of_y, (size_t)n * sizeof(yt));
    return;
  }
  mv last = end_at(from, n - VL, bias, b, residual, res, act); // before y is written, which res may be
  for (int64_t i = 0; i < n - VL; i += VL) store_out(y + i, end_at(from, i, bias, b, residual, res, act));
  store_out(y + n - VL, last);
}

// The planes of VL channels from k, for a stretch.
RIDGE_INLINE RIDGE_VT void end_planes(const plan *p, const stretch *s, const float *planes, int64_t ld, int64_t k, const int bias,
                                      const int residual, const int act) {
  const ridge_conv_args *a = p->a;
  const int64_t P = a->Ho * a->Wo, whole = s->cols == a->Wo; // rows that follow each other are one
  const int64_t rows = whole ? 1 : s->rows, n = whole ? s->rows * s->cols : s->cols;
  for (int64_t c = 0; c < VL; c++) {
    const float b = bias ? one_out((const yt *)a->bias + k + c) : 0;
    const int64_t at = (s->image * a->K + k + c) * P + s->at;
    for (int64_t h = 0; h < rows; h++)
      end_run(planes + c * ld + h * s->cols, n, bias, b, residual, residual ? (const yt *)a->residual + at + h * a->Wo : 0, act,
              (yt *)a->y + at + h * a->Wo);
  }
}

#define END_PLANES(name, bias, residual, act)                                                                                     \
  __attribute__((noinline)) RIDGE_VT static void end_##name(const plan *p, const stretch *s, const float *planes, int64_t ld, int64_t k) { \
    end_planes(p, s, planes, ld, k, bias, residual, act);                                                                         \
  }
END_PLANES(plain, 0, 0, RIDGE_ACT_NONE)
END_PLANES(bias, 1, 0, RIDGE_ACT_NONE)
END_PLANES(relu, 0, 0, RIDGE_ACT_RELU)
END_PLANES(bias_relu, 1, 0, RIDGE_ACT_RELU)
END_PLANES(residual, 0, 1, RIDGE_ACT_NONE)
END_PLANES(bias_residual, 1, 1, RIDGE_ACT_NONE)
END_PLANES(residual_relu, 0, 1, RIDGE_ACT_RELU)
END_PLANES(bias_residual_relu, 1, 1, RIDGE_ACT_RELU)
END_PLANES(slowly, p->a->bias != 0, p->a->residual != 0, p->a->act)

typedef void (*end_fn)(const plan *, const stretch *, const float *, int64_t, int64_t);
static end_fn end_for(const ridge_conv_args *a) {
  static const end_fn ends[2][2][2] = {{{end_plain, end_bias}, {end_residual, end_bias_residual}},
                                       {{end_relu, end_bias_relu}, {end_residual_relu, end_bias_residual_relu}}};
  if (a->act != RIDGE_ACT_NONE && a->act != RIDGE_ACT_RELU) return end_slowly;
  return ends[a->act == RIDGE_ACT_RELU][a->residual != 0][a->bias != 0];
}

// Transforms M's rows from i on to the outputs of a stretch's tiles, NR channels from k.
RIDGE_VT static void outputs(const plan *p, const stretch *s, int64_t i, int64_t k, const float *M, float *planes) {
  const ridge_conv_args *a = p->a;
  const int64_t tiles = ceil_div(s->cols, 4);
  M += i * NR;
  if (a->layout == 1) {
    int64_t q = s->image * a->Ho * a->Wo + s->at;
    for (int64_t w = 0; w < s->cols; w += 4, M += NR) {
      if (s->rows == 4 && s->cols - w >= 4) pixels_out(p, M, q + w, 4, 4, k);
      else pixels_out(p, M, q + w, s->rows, s->cols - w < 4 ? s->cols - w : 4, k);
    }
    return;
  }
  const int64_t ld = ends_ld(s->cols);
  for (int v = 0; v < RIDGE_NV; v++, k += VL, M += VL) {
    planes_out(p, M + (tiles - 1) * NR, planes + (tiles - 1) * 4, ld, s->cols); // first, for it may reach into the next row
    for (int64_t w = 0; w < tiles - 1; w++) planes_out(p, M + w * NR, planes + w * 4, ld, s->cols);
    end_for(a)(p, s, planes, ld, k);
  }
}

// What is asked for between products: the parts of all stretches of a sub-block, as many after each call as to be done with the last.
typedef struct asking {
  stretch s;
  int64_t end, part, parts, done; // tile behind the last; part of s; parts of all; of those, asked for
} asking;

RIDGE_INLINE int64_t parts_of(const plan *p, const stretch *s) {
  return (p->a->layout == 1 ? ceil_div(s->cols, 4) : NR) << (p->a->residual != 0); // y and the residual in turn
}

static asking asking_of(const plan *p, int64_t first, int64_t end) {
  asking q = {.s = stretch_of(p, first, end), .end = end};
  stretch s = q.s;
  for (q.parts = parts_of(p, &s); s.next < end; q.parts += parts_of(p, &s)) s = stretch_of(p, s.next, end);
  return q;
}

// Asks for the parts up to call of calls.
static void ask(const plan *p, asking *q, int64_t call, int64_t calls, int64_t k) {
  for (const int64_t upto = call * q->parts / calls; q->done < upto; q->done++) {
    const int both = p->a->residual != 0;
    fetch_part(p, both && q->part % 2 ? p->a->residual : p->a->y, &q->s, q->part >> both, k);
    if (++q->part == parts_of(p, &q->s) && q->s.next < q->end) q->part = 0, q->s = stretch_of(p, q->s.next, q->end);
  }
}

// Outputs of tiles first .. first+n-1, which are rows from .. from+n-1 of V, NR channels from k.
RIDGE_VT static void multiply(const plan *p, int64_t first, int64_t from, int64_t n, int64_t k, const float *V, const float *U,
                              float *M, float *planes) {
  int64_t C = p->a->C, runs = ceil_div(n, MR), call = 0;
  asking q = asking_of(p, first, first + n);
  for (int64_t pos = 0; pos < POS; pos++) {
    const float *v = V + pos * p->v_pos + from * C;
    tile t = {.taps = 1, .run = C, .panel = U + pos * p->u_pos, .sums = M + pos * p->m_pos, .keep = 1, .a = p->a};
    for (int64_t i = 0, mr; i < runs; i++, t.sums += mr * NR) {
      const char *row[MR];
      mr = n / runs + (i < n % runs);
      for (int64_t l = 0; l < mr; l++, v += C) row[l] = (const char *)v;
      t.pixel = row;
      run_tile(mr, RIDGE_NV, &t);
      if (pos >= ASK) ask(p, &q, ++call, (POS - ASK) * runs, k);
    }
  }
  for (int64_t i = 0; i < n;) {
    stretch s = stretch_of(p, first + i, first + n);
    outputs(p, &s, i, k, M, planes);
    i = s.next - first;
  }
}

// Filters transformed beforehand: [panel][position][C][NR], a line more for each position.
int64_t CONV_CAT(CONV_FN, _packed)(const void *args, int32_t nthreads) {
  plan p = plan_of(args, nthreads);
  return p.panels * POS * p.u_pos * (int64_t)sizeof(float);
}

RIDGE_VT int CONV_CAT(CONV_FN, _pack)(const void *args, const ridge_ctx *ctx) {
  plan p = plan_of(args, ctx->nthreads);
  int64_t from, to;
  ridge_share(p.panels, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    float *U = (float *)p.a->packed + u * POS * p.u_pos;
    for (int64_t pos = 0; pos < POS; pos++) memset(U + (pos + 1) * p.u_pos - 16, 0, 16 * sizeof(float));
    filters(&p, u * NR, U);
  }
  return RIDGE_OK;
}

RIDGE_VT int CONV_FN(const void *args, const ridge_ctx *ctx) {
  plan p = plan_of(args, ctx->nthreads);
  if (ctx->workspace_bytes < p.shared + ctx->nthreads * p.own) return RIDGE_E_WORKSPACE;
  float *V = ctx->workspace, *U = (float *)((char *)ctx->workspace + p.shared + ctx->tid * p.own);
  float *M = U + (p.a->packing ? 0 : POS * p.u_pos), *zeros = M + POS * p.m_pos, *planes = zeros + p.a->C, *window = planes + VL * ends_ld(LONG * 4);
  memset(zeros, 0, (size_t)p.a->C * sizeof(float));
  int64_t t0 = 0, tiles = p.tiles;
  int tid = ctx->tid, nthreads = ctx->nthreads;
  if (p.apart) {
    V = (float *)((char *)V + p.shared / nthreads * tid);
    t0 = p.tiles * tid / nthreads, tiles = p.tiles * (tid + 1) / nthreads - t0;
    tid = 0, nthreads = 1;
  }
  for (int64_t b = 0; b < p.blocks; b++) {
    int64_t first = t0 + tiles * b / p.blocks, n = t0 + tiles * (b + 1) / p.blocks - first, from, to, had = -1;
    ridge_share(n, 1, tid, nthreads, &from, &to);
    for (int64_t i = from; i < to; i++) {
      if (p.wide > 0 && (i == from || (first + i) % p.across == 0)) copy_rows(&p, first + i, window);
      inputs(&p, first + i, i, zeros, window, V);
    }
    if (!p.apart) ridge_barrier(ctx);
    ridge_share(p.panels * p.splits, 1, tid, nthreads, &from, &to);
    for (int64_t u = from; u < to; u++) {
      int64_t panel = u / p.splits, part = u % p.splits, r0 = n * part / p.splits, r1 = n * (part + 1) / p.splits;
      const float *turned = U;
      if (p.a->packing) turned = (const float *)p.a->packed + panel * POS * p.u_pos;
      else if (panel != had) filters(&p, panel * NR, U), had = panel;
      for (int64_t s0 = r0, s1; s0 < r1; s0 = s1) {
        s1 = sub_end(&p, first + s0, first + r1) - first;
        multiply(&p, first + s0, s0, s1 - s0, panel * NR, V, turned, M, planes);
      }
    }
    if (!p.apart) ridge_barrier(ctx);
  }
  return RIDGE_OK;
}
