// The body of conv2d_fp32_*_winograd43: 3x3 convolution of step 1 by Winograd's F(4x4, 3x3)
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
enum { VMAX = CONV_VMAX, TS = 54, POS = 36, APART = CONV_APART }; // TS: tiles of a sub-block, at most

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
  p.own = ridge_apart((POS * ((a->packing ? 0 : p.u_pos) + p.m_pos) + a->C + 6 * p.wide * a->C) * (int64_t)sizeof(float));
  return p;
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

// A^T m: powers of the points.
RIDGE_INLINE RIDGE_VT void turn_out(const mv m[6], mv y[4]) {
  mv a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
  y[0] = m[0] + a + c, y[1] = PA * b + PB * d;
  y[2] = PA * PA * a + PB * PB * c, y[3] = m[5] + PA * PA * PA * b + PB * PB * PB * d;
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
  const float *image = (const float *)a->x + tile / p->per * C * a->H * a->W;
  for (int64_t h = top; h < top + 6; h++, window += p->wide * C) {
    int inside = h >= 0 && h < a->H;
    memset(window, 0, (size_t)((inside ? c0 : p->wide) * C) * sizeof(float));
    if (!inside) continue;
    turn_row(image + h * a->W, a->H * a->W, C, c1 - c0, C, window + c0 * C);
    memset(window + c1 * C, 0, (size_t)((p->wide - c1) * C) * sizeof(float));
  }
}

// Transforms the inputs of one tile to V[.][i][.] of the block.
RIDGE_VT static void inputs(const plan *p, int64_t tile, int64_t i, const float *zeros, const float *window, float *V) {
  const ridge_conv_args *a = p->a;
  const float *at[POS], *image = (const float *)a->x + tile / p->per * a->H * a->W * a->C;
  int64_t top = tile % p->per / p->across * 4 - a->pad_h, left = tile % p->across * 4 - a->pad_w, C = a->C;
  for (int64_t h = 0; h < 6; h++)
    for (int64_t w = 0; w < 6; w++) {
      int inside = top + h >= 0 && top + h < a->H && left + w >= 0 && left + w < a->W;
      at[h * 6 + w] = a->layout == 0 ? window + (h * p->wide + tile % p->across * 4 + w) * C
                      : inside       ? image + ((top + h) * a->W + left + w) * C
                                     : zeros;
    }
  for (int64_t c = 0; c < C; c += VL) {
    mv t[6][6];
    for (int w = 0; w < 6; w++) {
      mv d[6], col[6];
      RIDGE_UNROLL_ALL
      for (int h = 0; h < 6; h++) d[h] = *(const mv_any *)(at[h * 6 + w] + c);
      turn_in(d, col);
      RIDGE_UNROLL_ALL
      for (int h = 0; h < 6; h++) t[h][w] = col[h];
    }
    float *v = V + i * C + c;
    for (int h = 0; h < 6; h++) {
      mv row[6];
      turn_in(t[h], row);
      RIDGE_UNROLL_ALL
      for (int w = 0; w < 6; w++, v += p->v_pos) *(mv_any *)v = row[w];
    }
  }
}

// Transforms the filters of NR channels from k.
RIDGE_VT static void filters(const plan *p, int64_t k, float *U) {
  int64_t C = p->a->C;
  const float *w = (const float *)p->a->w + k * 9 * C;
  for (int64_t c = 0; c < C; c += 4)
    for (int v = 0; v < RIDGE_NV; v++) {
      mv g[9][4];
      for (int t = 0; t < 9; t++) {
        // More streams than hardware follows: lines of four of these filters, the next line of this tap or those four lines on.
        for (int l = 0; l < 4; l++) {
          const float *row = w + (v * VL + (p->a->layout == 1 ? c & 12 : t % 4 * 4) + l) * 9 * C;
          __builtin_prefetch(p->a->layout == 1 ? row + t * C + (c | 15) + 1 : row + c * 9 + 64 + t / 4 * 16, 0, 2);
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

// Finishes a row of up to four outputs, VL channels from k; NCHW: to four neighbours of each channel's row.
RIDGE_VT static void finish_row(const plan *p, const mv y[4], int64_t image, int64_t q, int64_t cols, int64_t k) {
  const ridge_conv_args *a = p->a;
  int64_t P = a->Ho * a->Wo;
  if (a->layout == 1) {
    for (int64_t w = 0; w < cols; w++) finish_channels(a, y[w], k, ((image * P + q + w) * a->K) + k);
    return;
  }
  mv v[4], turned[4];
  for (int w = 0; w < 4; w++) v[w] = a->bias ? y[w] + *(const mv_any *)((const yt *)a->bias + k) : y[w];
  CONV_TURN(turned, v[0], v[1], v[2], v[3]);
  for (int j = 0; j < 4; j++) { // lane group h of turned[j]: channel k + 4h + j
    const int64_t at = (image * a->K + k + j) * P + q;
    if (a->residual) {
      const float *res = (const float *)a->residual + at;
      if (cols == 4) {
        turned[j] += CONV_JOIN(CONV_SUM_QUAD, res, P); // through memory, quads would wait to come together
      } else {
        float lanes[VL] = {0};
        for (int h = 0; h < VL / 4; h++)
          for (int64_t w = 0; w < cols; w++) lanes[4 * h + w] = res[4 * h * P + w];
        turned[j] += *(const mv_any *)lanes;
      }
    }
    if (a->act == RIDGE_ACT_RELU) turned[j] = activate(turned[j], RIDGE_ACT_RELU);
    else if (a->act != RIDGE_ACT_NONE) turned[j] = activate_slowly(turned[j], a->act);
    float *to = (float *)a->y + at;
    for (int h = 0; h < VL / 4; h++, to += 4 * P) {
      if (cols == 4) memcpy(to, (const float *)&turned[j] + 4 * h, sizeof(quad));
      else for (int64_t w = 0; w < cols; w++) to[w] = turned[j][4 * h + w];
    }
  }
}

// Asks for the residual that the outputs of a tile, NR channels from k, will need.
RIDGE_INLINE void fetch_residual(const plan *p, int64_t tile, int64_t k) {
  const ridge_conv_args *a = p->a;
  const float *res = a->residual;
  int64_t ho = tile % p->per / p->across * 4, wo = tile % p->across * 4, P = a->Ho * a->Wo;
  int64_t rows = a->Ho - ho < 4 ? a->Ho - ho : 4, cols = a->Wo - wo < 4 ? a->Wo - wo : 4, image = tile / p->per;
  for (int64_t h = 0; h < rows; h++) {
    int64_t q = (ho + h) * a->Wo + wo;
    if (a->layout == 1)
      for (int64_t w = 0; w < cols; w++)
        for (int64_t c = 0; c < NR; c += 16) __builtin_prefetch(res + (image * P + q + w) * a->K + k + c);
    else
      for (int64_t c = 0; c < NR; c++) __builtin_prefetch(res + (image * a->K + k + c) * P + q);
  }
}

// Transforms M's row i to the outputs of a tile, NR channels from k.
RIDGE_VT static void outputs(const plan *p, int64_t tile, int64_t i, int64_t k, const float *M) {
  const ridge_conv_args *a = p->a;
  int64_t ho = tile % p->per / p->across * 4, wo = tile % p->across * 4;
  int64_t rows = a->Ho - ho < 4 ? a->Ho - ho : 4, cols = a->Wo - wo < 4 ? a->Wo - wo : 4;
  for (int v = 0; v < RIDGE_NV; v++) {
    mv t[4][6];
    for (int w = 0; w < 6; w++) {
      mv m[6], y[4];
      RIDGE_UNROLL_ALL
      for (int h = 0; h < 6; h++) m[h] = *(const mv_any *)(M + (h * 6 + w) * p->m_pos + i * NR + v * VL);
      turn_out(m, y);
      RIDGE_UNROLL_ALL
      for (int h = 0; h < 4; h++) t[h][w] = y[h];
    }
    for (int64_t h = 0; h < rows; h++) {
      mv y[4];
      turn_out(t[h], y);
      finish_row(p, y, tile / p->per, (ho + h) * a->Wo + wo, cols, k + v * VL);
    }
  }
}

// Outputs of tiles first .. first+n-1, which are rows from .. from+n-1 of V, NR channels from k.
RIDGE_VT static void multiply(const plan *p, int64_t first, int64_t from, int64_t n, int64_t k, const float *V, const float *U,
                              float *M) {
  int64_t C = p->a->C, runs = ceil_div(n, MR);
  for (int64_t pos = 0; pos < POS; pos++) {
    const float *v = V + pos * p->v_pos + from * C;
    tile t = {.taps = 1, .run = C, .panel = U + pos * p->u_pos, .sums = M + pos * p->m_pos, .keep = 1, .a = p->a};
    for (int64_t i = 0, mr; i < runs; i++, t.sums += mr * NR) {
      const char *row[MR];
      mr = n / runs + (i < n % runs);
      for (int64_t l = 0; l < mr; l++, v += C) row[l] = (const char *)v;
      t.pixel = row;
      run_tile(mr, RIDGE_NV, &t);
    }
  }
  for (int64_t i = 0; i < n; i++) {
    if (p->a->residual && i + 1 < n) fetch_residual(p, first + i + 1, k);
    outputs(p, first + i, i, k, M);
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
  float *M = U + (p.a->packing ? 0 : POS * p.u_pos), *zeros = M + POS * p.m_pos, *window = zeros + p.a->C;
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
      for (int64_t subs = ceil_div(r1 - r0, TS), s = 0; s < subs; s++) {
        int64_t s0 = r0 + (r1 - r0) * s / subs, s1 = r0 + (r1 - r0) * (s + 1) / subs;
        multiply(&p, first + s0, s0, s1 - s0, panel * NR, V, turned, M);
      }
    }
    if (!p.apart) ridge_barrier(ctx);
  }
  return RIDGE_OK;
}
