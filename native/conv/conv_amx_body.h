// The body of conv2d_*_amx_indirect: implicit GEMM on AMX tiles, NHWC and NCHW
//
//   y[q, k] = act(bias[k] + sum over taps t and channels c of x[pixel(q, t)][c] * w[k, t, c] + residual[q, k])
//
// A tile's 16 rows are output pixels, 64 bytes of channels each; a load takes one address and one pitch, so the pixels of a tile must lie one distance
// apart: 1x1 layers of step 1 read the image itself (DIRECT); other 1x1 layers (steps, padding, incomplete units) copies of a block's pixels (GATHER);
// kernels over few channels copies of all taps of a pixel as one row (DENSE), or a window of rows of taps (stems: is_rowwise); the rest a copy of the rows that
// a block sees, with their padding, in planes of
// 64 bytes a pixel (WINDOW), where a tap is an offset. There a tile lies within an output row, its height such that the row divides evenly, or (7x7) goes on
// over the row's end. NCHW always goes through such a copy, turned on the way, and its sums are turned before they end: conv_amx_nchw.h.
// Filters are panels of 32 channels in the order that tiles read: conv_amx_pack.h. The whole reduction stays in the tiles' accumulators; sums pass
// through twice 6 KiB of scratch and meet their end beside the next block: conv_amx_tile.h.
// Loops: block of pixels, chunk of panels that stays in L2, block of two or three tiles, panel. Work is shared by pixels and panels.
#include "conv_amx_tile.h"
#include "conv_amx_pack.h"

// Scratch of one thread.
typedef struct scratch {
  me *bias;
  float *scale;
  int64_t *at;
  amx_tile *tiles;
  int16_t *map;
  char *window;
} scratch;

RIDGE_INLINE scratch scratch_of(const plan *p, char *at) {
  return (scratch){(me *)(at + p->o_bias), (float *)(at + p->o_scale), (int64_t *)(at + p->o_at), (amx_tile *)(at + p->o_tiles),
                   (int16_t *)(at + p->o_map), at + p->o_window};
}

// Whether to take few registers, asked behind a thread's first block of pixels where its products take 27 us and more; before, and in shorter ones, it does.
#if defined(RIDGE_MODEL)
#define CONV_ASKS(p, nthreads) 1
#define CONV_CROWDED(p) ((p)->a->Ho % 2)
#else
#define CONV_ASKS(p, nthreads) ((p)->pixels * (p)->panels * NR * (p)->a->groups * (p)->steps >= ((int64_t)1 << 20) * (nthreads))
#define CONV_CROWDED(p) ridge_amx_crowded()
#endif

static void take_registers(job *j, const plan *p, int few) { j->few = few, j->most = few && !p->whole ? MOST : 2; }

int64_t CONV_CAT(CONV_FN, _workspace)(const void *args, int32_t nthreads) {
  const plan p = plan_of(args, nthreads);
  return p.shared + nthreads * p.bytes;
}

// Tiles of pixels q0 .. q0+n-1 that follow each other from base on; their height.
static int64_t tiles_of_run(const plan *p, scratch *s, const char *base, int64_t q0, int64_t n, int64_t *high) {
  const int64_t tiles = ceil_div(n, 16);
  *high = ceil_div(n, tiles);
  for (int64_t i = 0; i < tiles; i++) { // the last one may give some pixels again
    const int64_t from = least(i * *high, n - *high);
    s->tiles[i] = (amx_tile){base + from * p->stride, q0 + from, NULL};
  }
  return tiles;
}

// Copies what output rows u0 .. u1-1 (of all images) see and lists their tiles.
RIDGE_VT static int64_t tiles_of_rows(const plan *p, scratch *s, int64_t g, int64_t u0, int64_t u1, int64_t *high) {
  const ridge_conv_args *a = p->a;
  const int64_t row = p->wide * p->px;
  amx_tile *t = s->tiles;
  int16_t *map = s->map;
  char *at = s->window;
  *high = p->flat ? 16 : ceil_div(a->Wo, p->each);
  for (int64_t u = u0, end; u < u1; u = end) { // rows of one image
    const int64_t n = u / a->Ho, ho = u % a->Ho;
    end = least(u1, (n + 1) * a->Ho);
    const int64_t rows = (end - u - 1) * p->hs + p->span_h;
    for (int64_t i = 0; i < rows; i++) {
      const int64_t hi = (p->hs == a->stride_h ? ho * a->stride_h + i : (ho + i / p->span_h) * a->stride_h + i % p->span_h) - a->pad_h;
      if (p->rowwise) copy_taps(p, g, n, hi, at + i * row);
      else copy_row(p, g, n, hi, -a->pad_w, p->wide, at + i * row);
    }
    if (p->flat) {
      const int64_t all = (end - u - 1) * p->flat + a->Wo;
      for (int64_t i = 0; i < all; i += 16, map += 16) {
        for (int64_t r = 0; r < 16; r++) {
          const int64_t y = (i + r) / p->flat, x = (i + r) % p->flat;
          map[r] = (int16_t)(x < a->Wo && y < end - u ? y * a->Wo + x - i / p->flat * a->Wo : -1);
        }
        *t++ = (amx_tile){at + i * p->stride, (u + i / p->flat) * a->Wo, map};
      }
    } else {
      for (int64_t i = u; i < end; i++)
        for (int64_t j = 0; j < p->each; j++) {
          const int64_t from = least(j * *high, a->Wo - *high);
          *t++ = (amx_tile){at + (i - u) * p->hs * row + from * p->stride, i * a->Wo + from, NULL};
        }
    }
    at += rows * row;
  }
  return t - s->tiles;
}

// Units u0 .. u1-1, panels p0 .. p1-1 of group g.
RIDGE_VT static void task(const plan *p, scratch *s, job *j, int64_t g, int64_t u0, int64_t u1, int64_t p0, int64_t p1, const char *packed) {
  const ridge_conv_args *a = p->a;
  const int64_t blocks = ceil_div(u1 - u0, p->per), panel = p->steps * STEP, chunks = ceil_div(p1 - p0, p->chunk);
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t from = u0 + (u1 - u0) * b / blocks, to = u0 + (u1 - u0) * (b + 1) / blocks;
    int64_t tiles, high;
    end_all(j); // of tiles that make room
    if (p->mode == WINDOW) {
      tiles = tiles_of_rows(p, s, g, from, to, &high);
    } else {
      const int64_t q0 = from * 16, q1 = least(to * 16, a->N * a->Ho * a->Wo);
      tiles = tiles_of_run(p, s, (const char *)a->x + (q0 * a->C + g * p->cg) * (int64_t)sizeof(xt), q0, q1 - q0, &high);
    }
    if (high != j->high) {
      j->high = high;
#if !defined(RIDGE_MODEL)
      ridge_amx_configure_rows((int)high);
#endif
    }
    for (int64_t c = 0; c < chunks; c++) {
      const int64_t first = p0 + (p1 - p0) * c / chunks, end = p0 + (p1 - p0) * (c + 1) / chunks;
      for (int64_t t = 0, m; t < tiles; t += m) {
        if (j->asks && t > 0) {
          j->asks = 0;
          save_sums(j);
          take_registers(j, p, CONV_CROWDED(p));
#if !defined(RIDGE_MODEL)
          ridge_amx_configure_rows((int)high);
#endif
        }
        const int64_t left = tiles - t; // none is left alone
        m = left == 4 ? 2 : least(left, j->most);
        amx_tile *const group = s->tiles + t;
        for (int64_t i = 0; i < m && p->mode == GATHER; i++)
          gather(p, g, group[i].q, high, s->window + 1024 * i), group[i].base = s->window + 1024 * i;
        for (int64_t i = 0; i < m && p->mode == DENSE; i++) {
          char *to = s->window + 16 * p->px * i;
          copy_dense(p, g, group[i].q, group[i].q + high, to), group[i].base = to;
        }
        const int64_t line = NR * (a->scale ? 1 : (int64_t)sizeof(yt)), down = m * j->high * a->K * (a->scale ? 1 : (int64_t)sizeof(yt)) - (end - first - 1) * line;
        j->ask = j->ask_end = s->tiles[t].base, j->pace = 0;
        // The next group's pixels are asked for meanwhile where they are few lines with a step, or come from beyond L2.
        if (p->asks && t + m < tiles && (end - first >= 4 || p->far)) {
          j->ask = s->tiles[t + m].base, j->ask_end = j->ask + least(tiles - t - m, j->most) * j->high * p->px;
          j->pace = round_up(ceil_div(j->most * j->high * p->px, (end - first) * p->steps * (j->most == 2 ? 1 : 2)));
        }
        for (int64_t i = first; i < end; i++)
          run_block(j, s->tiles + t, m, packed + (g * p->panels + i) * panel, g * p->kg + i * NR, least(p->kg - i * NR, NR), (g * p->panels + i) * NR, i + 1 < end ? line : down);
      }
    }
  }
}

int64_t CONV_CAT(CONV_FN, _packed)(const void *args, int32_t nthreads) {
  const plan p = plan_of(args, nthreads);
  return panels_bytes(&p);
}

// A thread's share of the panels to dst.
RIDGE_VT static void pack_share(const plan *p, const ridge_ctx *ctx, char *dst) {
  int64_t from, to;
  ridge_share(p->a->groups * p->panels, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t i = from; i < to; i++) pack_panel(p, i / p->panels, i % p->panels, dst + i * p->steps * STEP);
}

RIDGE_VT int CONV_CAT(CONV_FN, _pack)(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  const plan p = plan_of(a, ctx->nthreads);
  if (a->N * a->Ho * a->Wo > 0) pack_share(&p, ctx, a->packed);
  return RIDGE_OK;
}

RIDGE_VT int CONV_FN(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  const plan p = plan_of(a, ctx->nthreads);
  if (a->N * a->Ho * a->Wo == 0) return RIDGE_OK;
  if (ctx->workspace_bytes < p.shared + ctx->nthreads * p.bytes) return RIDGE_E_WORKSPACE;
  char *own = (char *)ctx->workspace + p.shared + ctx->tid * p.bytes;
  const char *packed = a->packing ? a->packed : ctx->workspace;
  if (!a->packing) {
    pack_share(&p, ctx, ctx->workspace);
    ridge_barrier(ctx);
  }
  scratch s = scratch_of(&p, own);
  for (int64_t i = 0; i < a->groups * p.panels * NR; i++) {
    const int64_t k = i / (p.panels * NR) * p.kg + i % (p.panels * NR), inside = i % (p.panels * NR) < p.kg;
#if defined(CONV_BF16)
    s.bias[i] = a->bias && inside ? ridge_bf16_to_float(((const yt *)a->bias)[k]) : 0;
#else
    s.bias[i] = a->bias && inside ? ((const yt *)a->bias)[k] : 0;
    s.scale[i] = a->scale && inside ? a->scale[k] : 0;
#endif
  }
  for (int64_t i = 0; i < p.steps; i++) {
    const int64_t t = i % p.taps;
    s.at[i] = p.rowwise ? i * a->dil_h * p.wide * p.px : p.mode == WINDOW ? (t / a->S * a->dil_h * p.wide + t % a->S * a->dil_w) * p.px + i / p.taps * p.plane : i * p.pitch;
  }
  job j = {.a = a, .at = s.at, .steps = p.steps, .stride = p.stride, .bias = s.bias, .scale = s.scale};
  j.end = end_of(a);
  j.asks = CONV_ASKS(&p, ctx->nthreads), take_registers(&j, &p, 1);
  j.sums = (me *)(own + p.o_sums), j.spare = j.sums + MOST * 16 * NR;
  int64_t from, to;
  ridge_share(a->groups * p.ps * p.cs, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    const int64_t c = u % p.cs, q = u / p.cs % p.ps, g = u / p.cs / p.ps;
    task(&p, &s, &j, g, p.total * q / p.ps, p.total * (q + 1) / p.ps, p.panels * c / p.cs, p.panels * (c + 1) / p.cs, packed);
  }
  end_all(&j);
#if !defined(RIDGE_MODEL)
  TILE_END
#endif
  return RIDGE_OK;
}
