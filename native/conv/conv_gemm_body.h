// The body of conv2d_*_{avx2,avx512,avx512vnni,neon}: convolution as a matrix product
//
//   Y[k, q] = sum over i of W[k, i] * X'[i, q]     q = (n, ho, wo), i = (c, r, s) or (r, s, c)
//
// per group, where X' (im2col) exists only as panels: KC reduction rows by NR pixels, packed
// straight from x with zeros for the padding, used by all channels of the task while in cache.
// Rows of W are used where they lie (they run along the reduction in both layouts); bf16 is
// widened to fp32 (CONV_DOT: brought to pairs of channels) and int8 to int16 pairs first, in the shared part of the workspace.
// Pixels run over all images, so small images fill whole panels together. Partial sums of a
// task stay in fp32 (int32) scratch over the whole reduction; bias, residual and activation are
// applied, and the only rounding to bf16 done, when a tile's last block is finished.
//
// The includer defines the macros of ridge_micro.h, CONV_FN (the kernel's function name) and one
// of CONV_FP32, CONV_BF16, CONV_INT8.
//
// Blocks: a panel of KC*NR*4 bytes stays in L1, KB*NC sums + KC*NC panels + MC*KC filters in L2.
// Tasks are (group, pixels, channels); plan() picks the split that loses least to unevenness,
// so that one small image still feeds many threads.
// Source of the scheme: Goto and van de Geijn 2008 (blocking); implicit-GEMM convolution as in
// cuDNN (Chetlur et al. 2014), with packing as the place where the image is unfolded.
#include "conv_vector.h"
#include "../include/ridge_micro.h"

#ifndef CONV_NC
#define CONV_NC 96 // pixels of a task
#endif
enum { KC = 256, KB = 384, MC = 96, NR = RIDGE_NR, NCP = CONV_NC / RIDGE_NR };
#if defined(CONV_INT8) || defined(CONV_DOT)
enum { CHAN = 2 }; // channels in a panel element
#else
enum { CHAN = 1 };
#endif

typedef ridge_me ue; // element of a panel and of the filters
#if defined(CONV_FP32)
typedef xt we;
#else
typedef ue we;
#endif

// Everything about one convolution that tasks share.
typedef struct shape {
  const ridge_conv_args *a;
  ridge_conv_strides st;
  int64_t cg, kg;       // channels and outputs per group
  int64_t cp;           // panel elements per tap: channels, or pairs of channels
  int64_t taps, red;    // R*S, cp*taps
  int64_t kc_chan, kc_tap; // reduction index of (c, tap) = c*kc_chan + tap*kc_tap
  int64_t P, Q;         // pixels of an image, of all
  int64_t x_len;        // elements of x
  const we *w;          // filters [K, red]
  int64_t ps, cs;       // pixel and channel splits
} shape;

// Scratch of one thread.
typedef struct scratch {
  me sums[KB * CONV_NC];
  ue panels[KC * CONV_NC];
  int64_t off[CONV_NC];  // element offset of the pixel's first tap, may be outside x
  int64_t yoff[CONV_NC]; // element offset of channel 0 in y
  int32_t hi[CONV_NC], wi[CONV_NC]; // row and column of the first tap
  int64_t pad[8];
} scratch;

RIDGE_INLINE shape shape_of(const ridge_conv_args *a) {
  shape s = {.a = a, .st = ridge_conv_layout(a), .cg = a->C / a->groups, .kg = a->K / a->groups, .taps = a->R * a->S};
#if defined(CONV_INT8) || defined(CONV_DOT)
  s.cp = (s.cg + CHAN - 1) / CHAN, s.kc_chan = 1, s.kc_tap = s.cp;
#else
  s.cp = s.cg, s.kc_chan = s.st.w_chan, s.kc_tap = s.st.w_tap;
#endif
  s.red = s.cp * s.taps;
  s.P = a->Ho * a->Wo, s.Q = a->N * s.P;
  s.x_len = a->N * a->C * a->H * a->W;
  return s;
}

// Splits pixels and channels: the least of (waves of tasks) * (panels of a task) * (its rows,
// plus 8 for packing a panel).
static void plan(shape *s, int nthreads) {
  int64_t tn = ceil_div(s->Q, NR), tm = ceil_div(s->kg, RIDGE_MR), best = INT64_MAX;
  int64_t ps0 = ceil_div(tn, NCP), cs0 = ceil_div(s->kg, KB);
  for (int64_t cs = cs0; cs <= tm && cs < cs0 + nthreads; cs++) {
    int64_t wave0 = ceil_div(s->a->groups * cs * ps0, nthreads);
    for (int64_t wave = wave0; wave < wave0 + 4; wave++) {
      int64_t ps = wave * nthreads / (s->a->groups * cs);
      ps = ps < ps0 ? ps0 : ps > tn ? tn : ps;
      int64_t cost = ceil_div(s->a->groups * cs * ps, nthreads) * ceil_div(tn, ps) * (ceil_div(s->kg, cs) + 8);
      if (cost < best) best = cost, s->ps = ps, s->cs = cs;
    }
  }
}

static int64_t filter_bytes(const shape *s) {
#if defined(CONV_FP32)
  (void)s;
  return 0;
#else
  return (s->a->K * s->red * (int64_t)sizeof(ue) + 63) / 64 * 64;
#endif
}

int64_t CONV_CAT(CONV_FN, _workspace)(const void *args, int32_t nthreads) {
  shape s = shape_of(args);
  return filter_bytes(&s) + nthreads * ridge_apart(sizeof(scratch));
}

#if !defined(CONV_FP32)
// Widens this thread's share of the filters.
static void widen_filters(const shape *s, ue *w, int tid, int nthreads) {
  const xt *src = s->a->w;
  int64_t from, to;
  ridge_share(s->a->K, 1, tid, nthreads, &from, &to);
#if defined(CONV_BF16) && !defined(CONV_DOT)
  for (int64_t i = from * s->red; i < to * s->red; i++) w[i] = ridge_bf16_to_float(src[i]);
#else
#if defined(CONV_DOT)
  if (s->st.w_chan == 1 && s->cg % 2 == 0) {
    memcpy(w + from * s->red, src + from * s->red * 2, (size_t)((to - from) * s->red) * sizeof *w);
    return;
  }
#endif
  for (int64_t k = from; k < to; k++)
    for (int64_t t = 0; t < s->taps; t++)
      for (int64_t c = 0; c < s->cp; c++) {
        const xt *p = src + k * s->cg * s->taps + 2 * c * s->st.w_chan + t * s->st.w_tap;
        uint32_t hi = 2 * c + 1 < s->cg ? (uint32_t)(int32_t)p[s->st.w_chan] << 16 : 0;
        w[k * s->red + t * s->cp + c] = (int32_t)(hi | (uint16_t)(int16_t)p[0]);
      }
#endif
}
#endif

// Element of the panel from x[i] (pairs: and the next channel, where there is one).
RIDGE_INLINE ue load_one(const shape *s, const xt *x, int64_t i, int64_t c) {
#if defined(CONV_FP32)
  return x[i];
#elif defined(CONV_BF16) && !defined(CONV_DOT)
  return ridge_bf16_to_float(x[i]);
#else
  uint32_t hi = 2 * c + 1 < s->cg ? (uint32_t)(int32_t)x[i + s->st.x_chan] << 16 : 0;
  return (int32_t)(hi | (uint16_t)(int16_t)x[i]);
#endif
}

// The same for VL neighbouring pixels.
RIDGE_INLINE RIDGE_VT ridge_vi load_vector(const shape *s, const xt *x, int64_t i, int64_t c) {
#if defined(CONV_FP32)
  return *(const ridge_vi_any *)(x + i);
#elif defined(CONV_BF16) && !defined(CONV_DOT)
  return ridge_bf16_load(x + i);
#elif defined(CONV_BF16)
  ridge_vu low = ridge_widen_u16(x + i);
  if (2 * c + 1 < s->cg) low |= (ridge_vu)ridge_bf16_load(x + i + s->st.x_chan);
  return (ridge_vi)low;
#else
  ridge_vu lo = (ridge_vu)ridge_widen_s8(x + i) & 0xffff;
  if (2 * c + 1 >= s->cg) return (ridge_vi)lo;
  ridge_vu hi = (ridge_vu)ridge_widen_s8(x + i + s->st.x_chan);
  return (ridge_vi)(lo | hi << 16);
#endif
}

// Fills the pixel tables for pixels q0 .. q0+n-1 of NC; lanes after them never see the image.
static void locate(const shape *s, scratch *t, int64_t q0, int64_t n, int64_t padded) {
  const ridge_conv_args *a = s->a;
  int64_t img = q0 / s->P, ho = q0 % s->P / a->Wo, wo = q0 % a->Wo;
  for (int64_t j = 0; j < padded; j++) {
    int64_t hi = ho * a->stride_h - a->pad_h, wi = wo * a->stride_w - a->pad_w;
    if (j >= n) {
      t->off[j] = t->off[j - 1] + a->stride_w, t->hi[j] = INT32_MIN / 2, t->wi[j] = 0;
      continue;
    }
    t->off[j] = img * a->C * a->H * a->W + (hi * a->W + wi) * s->st.x_pix;
    t->yoff[j] = img * a->K * s->P + (ho * a->Wo + wo) * s->st.y_pix;
    t->hi[j] = (int32_t)hi, t->wi[j] = (int32_t)wi;
    if (++wo == a->Wo) {
      wo = 0;
      if (++ho == a->Ho) ho = 0, img++;
    }
  }
}

// Packs VL pixels (column j of the task) for reduction rows k0 .. k1-1 of group g into dst,
// rows NR apart.
RIDGE_INLINE RIDGE_VT void pack_vector(const shape *s, const scratch *t, int64_t g, int64_t j, int64_t k0, int64_t k1, ue *dst) {
  const ridge_conv_args *a = s->a;
  const xt *x = a->x;
  int64_t step = t->off[j + 1] - t->off[j];
  for (int l = 1; l < VL; l++)
    if (t->off[j + l] - t->off[j] != l * step) step = 0;
  int64_t chan = CHAN * s->st.x_chan, base = g * s->cg * s->st.x_chan;
  const ridge_vi hv = *(const ridge_vi_any *)(t->hi + j), wv = *(const ridge_vi_any *)(t->wi + j);
  for (int64_t r = 0; r < a->R; r++)
    for (int64_t q = 0; q < a->S; q++) {
      int64_t tap = r * a->S + q, first = k0 - tap * s->kc_tap, last = k1 - tap * s->kc_tap;
      int64_t c0 = first <= 0 ? 0 : ceil_div(first, s->kc_chan), c1 = last <= 0 ? 0 : ceil_div(last, s->kc_chan);
      if (c1 > s->cp) c1 = s->cp;
      if (c0 >= c1) continue;
      ridge_vi h = hv + (int32_t)(r * a->dil_h), w = wv + (int32_t)(q * a->dil_w);
      ridge_vi ok = (h >= 0) & (h < (int32_t)a->H) & (w >= 0) & (w < (int32_t)a->W);
      int64_t half[VL / 2], any = 0;
      memcpy(half, &ok, sizeof half);
      for (int l = 0; l < VL / 2; l++) any |= half[l];
      ue *out = dst + (c0 * s->kc_chan + tap * s->kc_tap - k0) * NR;
      int64_t pitch = s->kc_chan * NR, shift = base + (r * a->dil_h * a->W + q * a->dil_w) * s->st.x_pix;
      int64_t i = t->off[j] + shift + c0 * chan;
      for (int64_t c = c0; c < c1; c++, out += pitch, i += chan) {
        int64_t end = i;
#if defined(CONV_INT8) || defined(CONV_DOT)
        if (2 * c + 1 < s->cg) end += s->st.x_chan;
#endif
        if (any == 0) {
          *(ridge_vi_any *)out = (ridge_vi){0};
        } else if (step == 1 && i >= 0 && end + VL <= s->x_len) {
          *(ridge_vi_any *)out = load_vector(s, x, i, c) & ok;
        } else if (step == 2 && i >= 0 && end + 2 * VL <= s->x_len) {
          *(ridge_vi_any *)out = even_lanes(load_vector(s, x, i, c), load_vector(s, x, i + VL, c)) & ok;
        } else {
          for (int l = 0; l < VL; l++) out[l] = ok[l] ? load_one(s, x, t->off[j + l] + shift + c * chan, c) : 0;
        }
      }
    }
}

RIDGE_VT static void pack(const shape *s, scratch *t, int64_t g, int64_t panels, int64_t k0, int64_t k1) {
  for (int64_t p = 0; p < panels; p++)
    for (int v = 0; v < RIDGE_NV; v++)
      pack_vector(s, t, g, p * NR + v * VL, k0, k1, t->panels + p * (k1 - k0) * NR + v * VL);
}

// Finishes mr channels from k by n pixels from column j of the task.
RIDGE_VT static void finish(const shape *s, const scratch *t, const me *sums, int64_t k, int64_t mr, int64_t j, int64_t n) {
  const ridge_conv_args *a = s->a;
  if (a->layout == 1) { // channels are neighbours in y
    for (int64_t l = 0; l < n; l++)
      for (int64_t i = 0; i < mr; i++) finish_one(a, sums[i * CONV_NC + l], k + i, t->yoff[j + l] + k + i);
    return;
  }
  int neighbours = t->yoff[j + n - 1] - t->yoff[j] == n - 1;
  for (int64_t i = 0; i < mr; i++) {
    int64_t l = 0, chan = (k + i) * s->st.y_chan;
    if (neighbours)
      for (; l + VL <= n; l += VL) finish_pixels(a, *(const mv_any *)(sums + i * CONV_NC + l), k + i, t->yoff[j + l] + chan);
    for (; l < n; l++) finish_one(a, sums[i * CONV_NC + l], k + i, t->yoff[j + l] + chan);
  }
}

// Asks for the residual's lines that finish will read, a row for each channel: more rows than hardware follows. 64 to 256 channels, 1x1, 32 images of
// 56x56 in bf16, two threads on Emerald Rapids (260 MiB of last-level cache): 37 -> 28 ms, in fp32, which asked for the first of three lines, 32 -> 29. Asking for y's lines too, or a tile further ahead, is no better; the former took 9 % longer without a
// residual.
RIDGE_INLINE void ask(const shape *s, const scratch *t, int64_t k, int64_t mr, int64_t j, int64_t n) {
  const ridge_conv_args *a = s->a;
  const int64_t from = t->yoff[j], last = t->yoff[j + n - 1];
  if (!a->residual || a->layout == 1 || last - from != n - 1) return;
  for (int64_t i = k; i < k + mr; i++) {
    const yt *r = (const yt *)a->residual + i * s->st.y_chan;
    for (int64_t at = from; at < last; at += 64 / (int64_t)sizeof(yt)) __builtin_prefetch(r + at);
    __builtin_prefetch(r + last); // which a line that begins within the first may hold
  }
}

// A tile's sums (+)= filters * panel. Tiles add 32-bit elements as integers, where they are integers: the sums of bf16 pairs are not.
RIDGE_VT static void product(int64_t mr, int64_t nv, int64_t kc, const we *w, int64_t red, const ue *panel, me *sums, int add) {
#if defined(CONV_BF16) && defined(CONV_DOT)
  if (add) {
    float part[RIDGE_MR * NR];
    ridge_micro(mr, nv, kc, w, red, panel, (ue *)part, NR, 0);
    for (int64_t i = 0; i < mr; i++)
      for (int64_t v = 0; v < nv; v++) *(mv_any *)(sums + i * CONV_NC + v * VL) += *(const mv_any *)(part + i * NR + v * VL);
    return;
  }
#endif
  ridge_micro(mr, nv, kc, w, red, panel, (ue *)sums, CONV_NC, add);
}

#if defined(CONV_FP32)
// Ends a whole tile that lies in y: mr channels from k by NR pixels, channels ld apart.
RIDGE_VT static void finish_tile(const ridge_conv_args *a, int64_t mr, int64_t k, int64_t at, int64_t ld) {
  const yt *bias = a->bias, *res = a->residual;
  yt *y = (yt *)a->y + at;
  if (a->act != RIDGE_ACT_NONE && a->act != RIDGE_ACT_RELU) {
    for (int64_t i = 0; i < mr; i++)
      for (int v = 0; v < RIDGE_NV; v++) finish_pixels_slowly(a, *(const mv_any *)(y + i * ld + v * VL), k + i, at + i * ld + v * VL);
    return;
  }
  const int relu = a->act == RIDGE_ACT_RELU;
  for (int64_t i = 0; i < mr; i++, y += ld, at += ld) {
    const mv b = (mv){0} + (bias ? bias[k + i] : 0);
    RIDGE_UNROLL_ALL
    for (int v = 0; v < RIDGE_NV; v++) {
      mv x = *(const mv_any *)(y + v * VL) + b;
      if (res) x += *(const mv_any *)(res + at + v * VL);
      if (relu) x = activate(x, RIDGE_ACT_RELU);
      *(mv_any *)(y + v * VL) = x;
    }
  }
}
#endif

#if !defined(CONV_INT8) && !defined(CONV_DOT)
#define CONV_REST
// A few last pixels, which would fill a quarter of a vector at most (49 of a 7x7 image are 3 vectors and one): for each of them the products along the
// reduction, in which filters are contiguous. depth elements of m channels' filters, red apart, times n columns of a panel; sums as a tile's. A
// vector's multiply-add serves 16 elements here and would serve n there.
enum { REST = VL / 4 };
RIDGE_VT static void few_pixels(const we *w, int64_t red, int64_t depth, const ue *panel, int64_t m, int64_t n, me *sums, int add) {
  const int64_t whole = depth / VL * VL;
  me column[KC] __attribute__((aligned(64)));
  for (int64_t l = 0; l < n; l++) {
    for (int64_t i = 0; i < depth; i++) column[i] = panel[i * NR + l];
    for (int64_t c = 0; c < m; c += VL) {
      mv r[VL], rest;
      for (int k = 0; k < VL; k += 4) {
        const we *p[4];
        mv x[4];
        RIDGE_UNROLL_ALL
        for (int j = 0; j < 4; j++) p[j] = w + (c + k + j < m ? c + k + j : m - 1) * red, x[j] = (mv){0};
        for (int64_t i = 0; i < whole; i += VL) {
          const mv b = *(const mv_any *)(column + i);
          RIDGE_UNROLL_ALL
          for (int j = 0; j < 4; j++) x[j] += *(const mv_any *)(p[j] + i) * b;
        }
        RIDGE_UNROLL_ALL
        for (int j = 0; j < 4; j++) {
          me last = 0;
          for (int64_t i = whole; i < depth; i++) last += p[j][i] * column[i];
          r[k + j] = x[j], rest[k + j] = last;
        }
      }
      for (int h = VL / 2; h > 0; h /= 2) // pairs of lanes of pairs of vectors: lane i becomes channel c + i
        for (int i = 0; i < h; i++) {
          const ridge_vi a = (ridge_vi)r[2 * i], b = (ridge_vi)r[2 * i + 1];
          r[i] = (mv)even_lanes(a, b) + (mv)odd_lanes(a, b);
        }
      rest += r[0];
      for (int64_t k = 0; k < VL && c + k < m; k++) {
        me *to = sums + (c + k) * CONV_NC + l;
        *to = add ? *to + rest[k] : rest[k];
      }
    }
  }
}
#endif

// One task: pixels of panels p0 .. p1-1, channels m0 .. m1-1 of group g.
RIDGE_VT static void task(const shape *s, scratch *t, int64_t g, int64_t p0, int64_t p1, int64_t m0, int64_t m1) {
  int64_t q0 = p0 * NR, pixels = (p1 * NR < s->Q ? p1 * NR : s->Q) - q0, panels = p1 - p0;
  locate(s, t, q0, pixels, panels * NR);
  int64_t blocks = ceil_div(s->red, KC), depth = ceil_div(s->red, blocks);
#if defined(CONV_FP32)
  // Whole tiles of a short reduction go straight to y, and are finished there while in L1.
  const ridge_conv_args *a = s->a;
  const int direct = blocks == 1 && a->layout == 0, plain = !a->bias && !a->residual && a->act == RIDGE_ACT_NONE;
#endif
  for (int64_t k0 = 0; k0 < s->red; k0 += depth) {
    int64_t k1 = k0 + depth < s->red ? k0 + depth : s->red;
    pack(s, t, g, panels, k0, k1);
    for (int64_t i0 = m0; i0 < m1; i0 += MC)
      for (int64_t p = 0; p < panels; p++) {
        int64_t left = pixels - p * NR, n = left < NR ? left : NR, i1 = i0 + MC < m1 ? i0 + MC : m1, tiled = n;
#if defined(CONV_REST)
        if (n < NR && n % VL > 0 && n % VL <= REST) {
          tiled = n / VL * VL;
          few_pixels(s->w + (g * s->kg + i0) * s->red + k0, s->red, k1 - k0, t->panels + p * (k1 - k0) * NR + tiled, i1 - i0, n - tiled,
                     t->sums + (i0 - m0) * CONV_NC + p * NR + tiled, k0 > 0);
        }
#endif
        for (int64_t i = i0, mr; i < i1; i += mr) {
          mr = ridge_micro_rows(i1 - i);
#if defined(CONV_FP32)
          if (direct && n == NR && t->yoff[p * NR + NR - 1] - t->yoff[p * NR] == NR - 1) {
            const int64_t k = g * s->kg + i, at = t->yoff[p * NR] + k * s->st.y_chan;
            ask(s, t, k, mr, p * NR, n);
            for (int64_t l = 0; l < mr; l++) __builtin_prefetch((yt *)a->y + at + (mr + l) * s->st.y_chan, 1); // what the next tile needs
            ridge_micro(mr, RIDGE_NV, k1, s->w + k * s->red, s->red, t->panels + p * k1 * NR, (yt *)a->y + at, s->st.y_chan, 0);
            if (!plain) finish_tile(a, mr, k, at, s->st.y_chan);
            continue;
          }
#endif
          me *sums = t->sums + (i - m0) * CONV_NC + p * NR;
          if (k1 == s->red) ask(s, t, g * s->kg + i, mr, p * NR, n);
          if (tiled > 0)
            product(mr, ceil_div(tiled, VL), k1 - k0, s->w + (g * s->kg + i) * s->red + k0, s->red, t->panels + p * (k1 - k0) * NR, sums, k0 > 0);
          if (k1 == s->red) finish(s, t, sums, g * s->kg + i, mr, p * NR, n);
        }
      }
  }
}

RIDGE_VT int CONV_FN(const void *args, const ridge_ctx *ctx) {
  shape s = shape_of(args);
  const ridge_conv_args *a = args;
  if (ctx->workspace_bytes < CONV_CAT(CONV_FN, _workspace)(args, ctx->nthreads)) return RIDGE_E_WORKSPACE;
  if (s.Q == 0) return RIDGE_OK;
#if defined(CONV_FP32)
  s.w = a->w;
#else
  widen_filters(&s, ctx->workspace, ctx->tid, ctx->nthreads);
  s.w = ctx->workspace;
  ridge_barrier(ctx);
#endif
  scratch *t = (scratch *)((char *)ctx->workspace + filter_bytes(&s) + ctx->tid * ridge_apart(sizeof(scratch)));
  plan(&s, ctx->nthreads);
  int64_t tn = ceil_div(s.Q, NR), from, to;
  ridge_share(a->groups * s.ps * s.cs, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    int64_t c = u % s.cs, p = u / s.cs % s.ps, g = u / s.cs / s.ps;
    task(&s, t, g, tn * p / s.ps, tn * (p + 1) / s.ps, s.kg * c / s.cs, s.kg * (c + 1) / s.cs);
  }
  return RIDGE_OK;
}
