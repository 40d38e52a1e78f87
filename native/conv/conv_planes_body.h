// The body of conv2d_*_planes: direct convolution whose vectors run along the pixels of a plane
//
//   y[n,k,q] = act(bias[k] + sum over c,r,s of x[n, c, pixel(q) + offset(r,s)] * w[k,c,r,s] + residual)
//
// The rows of x that a band of output rows sees are copied with their padding, one plane for a channel (and, of a step, for each remainder of rows and
// columns), so that a tap is one offset into a plane for all pixels: a vector of sums goes over the rows' ends, and the few lanes between two rows that
// are no outputs are dropped when it is stored. A tile is four outputs by NV vectors of pixels. Lanes are pixels, so groups of few channels, few outputs
// and few channels fill vectors as well as many do, and filters are used where they lie (bf16 and int8: widened first, in the order in which they lie).
// Planes without padding and step are read in place (fp32).
//
// NHWC: pixels are turned to planes and sums back, VL pixels of VL channels at a time; groups of fewer outputs join for it.
//
// The includer defines the macros of ridge_vector.h, RIDGE_NV (vectors of a tile), CONV_FN and CONV_FP32, CONV_BF16 or CONV_INT8; int8 kernels
// RIDGE_DOT (with CONV_DOT) or RIDGE_DOT2, as conv_tile.h has them.
//
// FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Floor of an element of a tile on AVX-512 (4x6): 24 multiply-adds, 12 cycles; 6 loads, which cross lines,
// 4 broadcasts and the offset take 8.5 of 12. Waste: pitch/Wo, rows' ends (57 of 56, 29 of 28, 15 of 14, 8 of 7 at 3x3), and a part of the last vector.
// Source: direct convolution over padded planes, as in any image-processing library.
#include "conv_mac.h"
#include "conv_planes_window.h"

#if RIDGE_NV > 6
#error "tile_table has six columns"
#endif

typedef struct tile {
  const me *x;
  const int32_t *offset; // [red]
  const me *w;           // [mr][red]
  int64_t red;
  const place *p;        // [nv]
  const me *start;       // [mr], what sums start at; NULL: 0
  const ridge_conv_args *a;
  const ridge_conv_args *part; // as a, but for one vector, whose residual and y are the scratch `few`
  int64_t k, at;         // output channel, its place in y
  int64_t P;             // pixels of an image
  me *sums;              // [mr][NV*VL], where sums wait to be turned; NULL: they are finished
} tile;

// What a vector that is not full is finished in.
typedef struct few {
  yt residual[VL], y[VL], bias[VL];
  float scale[VL];
} few;

// The lanes of a mask, next to each other.
RIDGE_INLINE RIDGE_VT mv compress(mv v, uint32_t mask) {
#if RIDGE_VL == 16 && defined(RIDGE_VECTOR_X86)
  return (mv)_mm512_maskz_compress_epi32((__mmask16)mask, (__m512i)v);
#else
  me out[VL] = {0};
  for (int l = 0, n = 0; l < VL; l++) {
    out[n] = v[l];
    n += mask >> l & 1;
  }
  return *(const mv_any *)out;
#endif
}

// n elements of `size` bytes, fewer than VL.
RIDGE_INLINE RIDGE_VT void copy_few(void *dst, const void *src, int64_t n, int64_t size) {
#if RIDGE_VL == 16 && defined(RIDGE_VECTOR_X86)
  const __mmask16 m = (__mmask16)((1 << n) - 1);
  if (size == 4) _mm512_mask_storeu_epi32(dst, m, _mm512_maskz_loadu_epi32(m, src));
  else if (size == 2) _mm256_mask_storeu_epi16(dst, m, _mm256_maskz_loadu_epi16(m, src));
  else _mm_mask_storeu_epi8(dst, m, _mm_maskz_loadu_epi8(m, src));
#else
  memcpy(dst, src, (size_t)(n * size));
#endif
}
RIDGE_INLINE int64_t y_size(const ridge_conv_args *a) { return a->scale ? 1 : sizeof(yt); }

// Activations whose code would be in the way of the tiles wait for it in memory.
RIDGE_INLINE int activates_slowly(const ridge_conv_args *a) { return a->act != RIDGE_ACT_NONE && a->act != RIDGE_ACT_RELU; }

// Ends the sums of one channel at p's pixels; y's plane begins at `at`.
RIDGE_INLINE RIDGE_VT void end_place(const tile *t, mv v, const place *p, int64_t k, int64_t at) {
  at += p->at;
  if (p->lanes == VL) {
    finish_pixels(t->a, v, k, at);
  } else if (p->lanes > 0) {
    if (t->a->residual) copy_few((void *)t->part->residual, (const yt *)t->a->residual + at, p->lanes, sizeof(yt));
    finish_pixels(t->part, compress(v, p->mask), k, 0);
    copy_few((char *)t->a->y + at * y_size(t->a), t->part->y, p->lanes, y_size(t->a));
  }
}

// The same of mr channels from t->k for nv vectors: what stores could change is read before them.
RIDGE_INLINE RIDGE_VT void end_tile(const int mr, const int nv, const tile *t, mv acc[MR][NV]) {
#if defined(CONV_INT8)
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) end_place(t, acc[i][v], t->p + v, t->k + i, t->at + i * t->P);
  }
#else
  const yt *bias = t->a->bias, *res = t->a->residual;
  yt *y = (yt *)t->a->y + t->at;
  const int relu = t->a->act == RIDGE_ACT_RELU;
  const int64_t P = t->P;
  const place *p = t->p;
  if (bias) {
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      const mv b = one_out(bias + t->k + i) - (mv){0};
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) acc[i][v] += b;
    }
  }
  if (res) res += t->at;
  RIDGE_UNROLL_ALL
  for (int v = 0; v < nv; v++) {
    const int64_t at = p[v].at, lanes = p[v].lanes;
    const uint32_t mask = p[v].mask;
    if (lanes == VL) {
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++) {
        mv r = acc[i][v];
        if (res) r += load_out(res + at + i * P);
        if (relu) r = activate(r, RIDGE_ACT_RELU);
        store_out(y + at + i * P, r);
      }
      continue;
    }
    if (lanes == 0) continue;
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      yt out[VL], in[VL] = {0};
      mv r = compress(acc[i][v], mask);
      if (res) {
        copy_few(in, res + at + i * P, lanes, sizeof(yt));
        r += load_out(in);
      }
      if (relu) r = activate(r, RIDGE_ACT_RELU);
      store_out(out, r);
      copy_few(y + at + i * P, out, lanes, sizeof(yt));
    }
  }
#endif
}

__attribute__((noinline)) RIDGE_VT static void end_slowly(const tile *t, int64_t mr, int64_t nv) {
  for (int64_t i = 0; i < mr; i++)
    for (int64_t v = 0; v < nv; v++) end_place(t, *(const mv_any *)(t->sums + (i * NV + v) * VL), t->p + v, t->k + i, t->at + i * t->P);
}

RIDGE_INLINE RIDGE_VT void tile_body(const int mr, const int nv, const tile *t) {
  mv acc[MR][NV];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    const mv start = t->start ? (mv){0} + t->start[i] : (mv){0};
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv; v++) acc[i][v] = start;
  }
  const me *w[MR];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) w[i] = t->w + i * t->red;
  const me *x = t->x + t->p[0].from;
  const int64_t last = t->p[nv - 1].from - t->p[0].from;
  for (int64_t e = 0; e < t->red; e++) {
    const me *p = x + t->offset[e];
    mv xv[NV];
    RIDGE_UNROLL_ALL
    for (int v = 0; v < nv - 1; v++) xv[v] = *(const mv_any *)(p + v * VL);
    xv[nv - 1] = *(const mv_any *)(p + last);
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      const mv b = w[i][e] - (mv){0};
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) acc[i][v] = multiply_add(acc[i][v], b, xv[v]);
    }
  }
  if (t->sums) {
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) *(mv_any *)(t->sums + (i * NV + v) * VL) = acc[i][v];
    }
    return;
  }
  end_tile(mr, nv, t, acc);
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
#elif RIDGE_NV == 3
#define TILE_ROW(mr) TILE(mr, 1) TILE(mr, 2) TILE(mr, 3)
#define TILE_NAMES(mr) {tile_##mr##_1, tile_##mr##_2, tile_##mr##_3}
#else
#define TILE_ROW(mr) TILE(mr, 1) TILE(mr, 2) TILE(mr, 3) TILE(mr, 4) TILE(mr, 5) TILE(mr, 6)
#define TILE_NAMES(mr) {tile_##mr##_1, tile_##mr##_2, tile_##mr##_3, tile_##mr##_4, tile_##mr##_5, tile_##mr##_6}
#endif
TILE_ROW(1) TILE_ROW(2) TILE_ROW(3) TILE_ROW(4)
static const tile_fn tile_table[MR][RIDGE_NV] = {TILE_NAMES(1), TILE_NAMES(2), TILE_NAMES(3), TILE_NAMES(4)};
RIDGE_INLINE void run_tile(int64_t mr, int64_t nv, const tile *t) { tile_table[mr - 1][nv - 1](t); }
#endif

// NHWC: n channels from k of the pixels of a tile, from sums [VL][NV*VL]; `at`: the first of the band in y's pixels.
RIDGE_VT static void turn_out(const tile *t, const me *sums, int64_t nv, int64_t k, int64_t n, int64_t at, few *few) {
  const ridge_conv_args *a = t->a;
  const int64_t size = y_size(a);
  if (n < VL) {
    if (a->bias) copy_few(few->bias, (const yt *)a->bias + k, n, sizeof(yt));
    if (a->scale) copy_few(few->scale, a->scale + k, n, 4);
  }
  for (int64_t v = 0; v < nv; v++) {
    ridge_vi r[VL];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < VL; i++) r[i] = (ridge_vi) * (const mv_any *)(sums + (i * NV + v) * VL);
    ridge_transpose(r);
    mv_any turned[VL];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < VL; i++) turned[i] = (mv)r[i];
    int64_t to = (at + t->p[v].at) * a->K + k;
    for (uint32_t mask = t->p[v].mask; mask; mask &= mask - 1, to += a->K) {
      const mv sum = turned[__builtin_ctz(mask)];
      if (n == VL) {
        finish_channels(a, sum, k, to);
        continue;
      }
      if (a->residual) copy_few(few->residual, (const yt *)a->residual + to, n, sizeof(yt));
      finish_channels(t->part, sum, 0, 0);
      copy_few((char *)a->y + to * size, few->y, n, size);
    }
  }
}

// Where taps lie: of a plane of `rows` rows (a phase of the copy, or x itself).
static void list_offsets(const shape *s, int64_t plane, int64_t pitch, int32_t *offset) {
  const ridge_conv_args *a = s->a;
  const int64_t taps = a->R * a->S, chan = a->layout == 0 ? taps : 1, tap = a->layout == 0 ? 1 : s->units;
  for (int64_t u = 0; u < s->units; u++)
    for (int64_t r = 0; r < a->R; r++)
      for (int64_t q = 0; q < a->S; q++) {
        const int64_t h = r * a->dil_h, w = q * a->dil_w;
        const int64_t phase = (u * s->phases_h + h % a->stride_h) * s->phases_w + w % a->stride_w;
        offset[u * chan + (r * a->S + q) * tap] = (int32_t)(phase * plane + h / a->stride_h * pitch + w / a->stride_w);
      }
}

// The vectors of a band of n output rows. The last one ends where the last row does: it has lanes of the one before, whose sums are the same.
static int64_t list_places(const shape *s, int64_t n, place *p) {
  const int64_t Wo = s->a->Wo, end = (n - 1) * s->pitch + Wo, vectors = ceil_div(end, VL);
  for (int64_t i = 0; i < vectors; i++) {
    const int64_t from = i < vectors - 1 || end < VL ? i * VL : end - VL, row = from / s->pitch, lanes = least(VL, end - from);
    int64_t column = from % s->pitch;
    p[i] = (place){.from = from, .at = row * Wo + least(column, Wo)};
    for (int64_t l = 0, run; l < lanes; l += run) { // runs of outputs and of what lies between two rows
      const int64_t outputs = column < Wo;
      run = least((outputs ? Wo : s->pitch) - column, lanes - l), column += run;
      if (outputs) p[i].mask |= (uint32_t)(((uint64_t)1 << run) - 1) << l, p[i].lanes += (int32_t)run;
      if (column == s->pitch) column = 0;
    }
  }
  return vectors;
}

typedef struct scratch {
  int32_t *offset, *direct;
  place *place;
  me *sums, *window;
  int64_t high, vectors; // of the places
  const me *w, *start;
  const ridge_conv_args *part;
  few *few;
} scratch;

// Outputs that go over all pixels before the next ones: a line of y that two tiles share waits in L1, however many planes there are.
enum { OUTPUTS = 16 };

// Outputs of the next tile where n are left: as even as they can be.
RIDGE_INLINE int64_t rows_of(int64_t n) { return ceil_div(n, ceil_div(n, MR)); }

// One task: output rows ho .. ho+n-1 of image img, groups g .. g+joint-1.
RIDGE_VT static void task(const shape *s, scratch *b, int64_t img, int64_t g, int64_t ho, int64_t n) {
  const ridge_conv_args *a = s->a;
  const int64_t P = a->Ho * a->Wo, end = (n - 1) * s->pitch + a->Wo, chan = s->phases_h * s->phases_w * s->plane;
  if (n != b->high) b->vectors = list_places(s, n, b->place), b->high = n;
  tile t = {.x = b->window, .offset = b->offset, .red = s->red, .a = a, .part = b->part, .P = P};
  // What the next task copies, where it follows in memory, is asked for meanwhile.
  const char *next = (const char *)((const xt *)a->x + (img * a->C + (g + 1) * s->cg) * a->H * a->W);
  const int64_t last_x = ((a->N - img) * a->C - (g + 1) * s->cg) * a->H * a->W, next_bytes = a->layout == 0 && s->bands == 1 ? least(last_x, s->cg * a->H * a->W) * (int64_t)sizeof(xt) : 0;
  if (s->in_place && end >= VL) t.x = (const me *)a->x + ((img * a->C + g * s->cg) * a->H + ho) * a->W, t.offset = b->direct;
  else copy_window(s, img, g, ho, n, b->window);
  const me *x = t.x;
  const int64_t tiles = ceil_div(b->vectors, NV), outputs = s->joint * s->kg;
  for (int64_t k0 = 0; k0 < outputs; k0 += OUTPUTS) {
    const int64_t k1 = least(k0 + OUTPUTS, outputs);
    for (int64_t j = 0; j < tiles; j++) {
      const int64_t v0 = b->vectors * j / tiles, nv = b->vectors * (j + 1) / tiles - v0;
      t.p = b->place + v0;
      for (int64_t i = next_bytes * j / tiles / 64 * 64; k0 == 0 && i < next_bytes * (j + 1) / tiles; i += 64) __builtin_prefetch(next + i, 0, 2);
      for (int64_t k = k0, mr; k < k1; k += mr) {
        mr = rows_of(least(s->kg - k % s->kg, (a->layout == 0 ? k1 : k / VL * VL + VL) - k));
        t.k = g * s->kg + k, t.w = b->w + t.k * s->red, t.start = b->start ? b->start + t.k : NULL;
        t.x = x + k / s->kg * s->units * chan;
        t.at = (img * a->K + t.k) * P + ho * a->Wo;
        t.sums = a->layout == 1 ? b->sums + k % VL * NV * VL : activates_slowly(a) ? b->sums : NULL;
        run_tile(mr, nv, &t);
        if (a->layout == 0 && t.sums) end_slowly(&t, mr, nv);
        if (a->layout == 1 && ((k + mr) % VL == 0 || k + mr == k1)) {
          const int64_t first = k / VL * VL;
          turn_out(&t, b->sums, nv, g * s->kg + first, k + mr - first, img * P + ho * a->Wo, b->few);
        }
      }
    }
  }
}

int64_t CONV_CAT(CONV_FN, _workspace)(const void *args, int32_t nthreads) {
  const ridge_conv_args *a = args;
  shape s = shape_of(a, nthreads);
  return (a->packing ? 0 : round_up(s.filters)) + nthreads * s.bytes;
}

int64_t CONV_CAT(CONV_FN, _packed)(const void *args, int32_t nthreads) {
  const ridge_conv_args *a = args;
  shape s = shape_of(a, nthreads);
  return s.filters > 0 ? s.filters : a->K * s.red * (int64_t)sizeof(me);
}

// The filters, as they are used, to a->packed; threads share them.
RIDGE_VT int CONV_CAT(CONV_FN, _pack)(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  shape s = shape_of(a, ctx->nthreads);
  if (a->N * a->Ho * a->Wo * a->K == 0) return RIDGE_OK;
#if defined(CONV_FP32)
  int64_t from, to;
  ridge_share(a->K * s.red, 16, ctx->tid, ctx->nthreads, &from, &to);
  memcpy((me *)a->packed + from, (const me *)a->w + from, (size_t)(to - from) * sizeof(me));
#else
  copy_filters(&s, a->packed, ctx->tid, ctx->nthreads);
#endif
  return RIDGE_OK;
}

RIDGE_VT int CONV_FN(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  shape s = shape_of(a, ctx->nthreads);
  if (ctx->workspace_bytes < CONV_CAT(CONV_FN, _workspace)(args, ctx->nthreads)) return RIDGE_E_WORKSPACE;
  if (a->N * a->Ho * a->Wo * a->K == 0) return RIDGE_OK;
  char *at = ctx->workspace;
  const me *w = a->packing ? a->packed : a->w;
#if !defined(CONV_FP32)
  if (!a->packing) {
    copy_filters(&s, (me *)at, ctx->tid, ctx->nthreads);
    ridge_barrier(ctx);
    w = (const me *)at, at += round_up(s.filters);
  }
#endif
  at += ctx->tid * s.bytes;
  few few = {{0}, {0}, {0}, {0}};
  ridge_conv_args part = *a;
  part.y = few.y;
  if (a->residual) part.residual = few.residual;
  if (a->layout == 1 && a->bias) part.bias = few.bias;
  if (a->layout == 1 && a->scale) part.scale = few.scale;
  scratch b = {.offset = (int32_t *)(at + s.o_offset), .direct = (int32_t *)(at + s.o_direct), .place = (place *)(at + s.o_place), .sums = (me *)(at + s.o_sums),
               .window = (me *)(at + s.o_window), .w = w, .part = &part, .few = &few};
#if !defined(CONV_FP32)
  b.start = w, b.w = w + a->K;
#endif
  list_offsets(&s, s.plane, s.pitch, b.offset);
  if (s.in_place) list_offsets(&s, a->H * a->W, a->W, b.direct);
  if (a->layout == 1) memset(b.sums, 0, VL * NV * VL * sizeof(me));
  int64_t from, to;
  ridge_share(a->N * (a->groups / s.joint) * s.bands, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    const int64_t band = u % s.bands, g = u / s.bands % (a->groups / s.joint), img = u / s.bands / (a->groups / s.joint);
    const int64_t h0 = a->Ho * band / s.bands, h1 = a->Ho * (band + 1) / s.bands;
    task(&s, &b, img, g * s.joint, h0, h1 - h0);
  }
  return RIDGE_OK;
}
