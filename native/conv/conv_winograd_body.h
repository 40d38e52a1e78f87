// The body of conv2d_*_winograd43: 3x3 convolution of step 1 by Winograd's F(4x4, 3x3)
//
//   Y = A^T [ sum over c of (G w G^T) . (B^T d B) ] A      for every 4x4 block of outputs, d its 6x6 inputs
//
// 36 products per channel for 16 outputs instead of 144: a quarter of the direct multiplications. The points are
// 0, +-5/8, +-5/4 and infinity (conv_winograd_turn.h).
//
// Where a side of the image is no multiple of 4 its last tile is of 3 or 2 outputs, at five or four of the points and so with fewer products: 484 for 14x14
// where whole tiles take 576, 121 for 7x7 where they take 144. Where there are few tiles all are of 2x2 outputs, 16 products each, and
// filters are transformed to 16 positions alone: for one image of 7x7 four times the filters would be read for four rows of products each.
//
// With CONV_STEP2 it is the body of conv2d_*_winograd43s2, convolutions of step 2: 9x9 inputs and 81 positions for a tile of 4x4 outputs, which share 36 positions
// of filters (conv_winograd_phases.h). With CONV_STEM it is that of conv2d_*_winograd37s2, 7x7 convolutions of step 2 over three or four channels: tiles of 3x3
// outputs at 36 positions (conv_winograd_stem.h), whose inputs always come by way of a window and whose products have a register tile of their own. What
// follows counts the positions of step 1.
//
// Tiles (4x4 outputs) are taken in blocks whose transformed inputs V[36][tile][C] are at most VMAX floats (2 MiB: they
// stay in L3), but of TS tiles at least (up to 16 MiB): each block reads all transformed filters. All threads transform a block's inputs, meet, and share the panels of NR channels: a thread
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
// multiply-adds, 36 loads and stores; outputs 100, 36 loads and 16 stores; filters 72 and 36 stores.
// Where it wins: table.c's ridge_conv_winograd_wins.
//
// bf16: inputs and filters are widened to fp32 as they are loaded, everything between is fp32, and outputs are rounded once. A rounding of V or U
// to bf16 would be enlarged by the transforms as theirs are: 13.8 u of bf16.
//
// Error: the transforms enlarge rounding errors; worst found: 13.8 u of sum |x*w| (kernels.def), at corners of
// the image, whose outputs have few products but the error of the whole tile. The usual points 0, +-1, +-2 gave 54.
// Source: Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks".
#include "conv_winograd_out.h"

// What is asked for between products: the parts of all stretches of a sub-block, as many after each call as to be done with the last.
typedef struct asking {
  stretch s;
  int64_t end, part, parts, done; // tile behind the last; part of s; parts of all; of those, asked for
} asking;

RIDGE_INLINE int64_t parts_of(const plan *p, const stretch *s) {
  return (p->a->layout == 1 ? ceil_div(s->cols, p->step) : NR) << (p->a->residual != 0); // y and the residual in turn
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
  const int64_t depth = p->depth, ask_from = p->asks ? p->pos * 3 / 4 : p->pos;
  const members of = members_of(p, first, n);
  asking q = asking_of(p, first, first + n);
  int64_t call = 0, calls = 0;
  for (int64_t pos = ask_from; pos < p->pos; pos++) calls += ceil_div(of.n[p->class_of[pos]], ROWS);
  for (int64_t pos = 0; pos < p->pos; pos++) {
    const int c = p->class_of[pos];
    const int64_t rows = of.n[c], runs = ceil_div(rows, ROWS);
    const float *v = V + pos * p->v_pos + from * depth;
#if defined(CONV_STEM)
    const int64_t C = p->a->C;
    for (int64_t i = 0; i < runs; i++) {
      const int64_t at = rows * i / runs;
      stem_rows(rows * (i + 1) / runs - at, C, run_at(pos, p->run) / C, v + at * depth, U + pos * p->u_pos, M + pos * p->m_pos + at * NR);
      if (pos >= ask_from) ask(p, &q, ++call, calls, k);
    }
#else
    tile t = {.taps = 1, .run = run_at(pos, p->run), .panel = U + p->turn_of[pos] * p->u_pos, .sums = M + pos * p->m_pos, .keep = 1, .a = p->a};
    for (int64_t i = 0, mr, at = 0; i < runs; i++, t.sums += mr * NR) {
      const char *row[MR];
      mr = rows / runs + (i < rows % runs);
      for (int64_t l = 0; l < mr; l++) row[l] = (const char *)(v + of.tile[c][at++] * depth);
      t.pixel = row;
      run_tile(mr, RIDGE_NV, &t);
      if (pos >= ask_from) ask(p, &q, ++call, calls, k);
    }
#endif
  }
  for (int64_t i = 0; i < n;) {
    stretch s = stretch_of(p, first + i, first + n);
    outputs(p, &of, &s, i, k, M, planes);
    i = s.next - first;
  }
}

// Filters transformed beforehand: [panel][position][C][NR], a line more for each position.
int64_t CONV_CAT(CONV_FN, _packed)(const void *args, int32_t nthreads) {
  plan p = plan_of(args, nthreads);
  return p.panels * p.turns * p.u_pos * (int64_t)sizeof(float);
}

RIDGE_VT int CONV_CAT(CONV_FN, _pack)(const void *args, const ridge_ctx *ctx) {
  plan p = plan_of(args, ctx->nthreads);
  int64_t from, to;
  ridge_share(p.panels, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    float *U = (float *)p.a->packed + u * p.turns * p.u_pos;
    for (int64_t pos = 0; pos < p.turns; pos++) memset(U + (pos + 1) * p.u_pos - 16, 0, 16 * sizeof(float));
    filters(&p, u * NR, U);
  }
  return RIDGE_OK;
}

RIDGE_VT int CONV_FN(const void *args, const ridge_ctx *ctx) {
  plan p = plan_of(args, ctx->nthreads);
  if (ctx->workspace_bytes < p.shared + ctx->nthreads * p.own) return RIDGE_E_WORKSPACE;
  float *V = ctx->workspace, *U = (float *)((char *)ctx->workspace + p.shared + ctx->tid * p.own);
  float *M = U + p.kept * p.turns * p.u_pos, *zeros = M + p.pos * p.m_pos, *planes = zeros + p.depth, *window = planes + VL * ends_ld(LONG * 4);
  memset(zeros, 0, (size_t)p.depth * sizeof(float));
  int64_t t0 = 0, tiles = p.tiles;
  int tid = ctx->tid, nthreads = ctx->nthreads;
  if (p.apart) {
    V = (float *)((char *)V + p.shared / nthreads * tid);
    t0 = p.tiles * tid / nthreads, tiles = p.tiles * (tid + 1) / nthreads - t0;
    tid = 0, nthreads = 1;
  }
  for (int64_t i = 0; p.kept > 1 && i < p.panels; i++) filters(&p, i * NR, U + i * p.turns * p.u_pos);
  for (int64_t b = 0; b < p.blocks; b++) {
    int64_t first = t0 + tiles * b / p.blocks, n = t0 + tiles * (b + 1) / p.blocks - first, from, to, had = -1;
    ridge_share(n, 1, tid, nthreads, &from, &to);
    for (int64_t i = from; i < to; i++) {
      if (p.wide > 0 && (i == from || (first + i) % p.across == 0)) copy_rows(&p, first + i, window, i > from);
      inputs(&p, first + i, i, zeros, window, V);
    }
    if (!p.apart) ridge_barrier(ctx);
    ridge_share(p.panels * p.splits, 1, tid, nthreads, &from, &to);
    for (int64_t u = from; u < to; u++) {
      int64_t panel = u / p.splits, part = u % p.splits, r0 = n * part / p.splits, r1 = n * (part + 1) / p.splits;
      const float *turned = U;
      if (p.a->packing) turned = (const float *)p.a->packed + panel * p.turns * p.u_pos;
      else if (p.kept > 1) turned = U + panel * p.turns * p.u_pos;
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
