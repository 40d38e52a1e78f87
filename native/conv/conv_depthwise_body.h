// The body of conv2d_*_depthwise_*: one input channel per group (groups = C).
//
//   y[n,k,ho,wo] = act(bias[k] + sum over r,s of x[n, k/(K/C), ho*stride-pad+r*dil, ...] * w[k,r,s] + residual)
//
// NCHW: vectors of output columns. Input rows are copied once, widened and with their padding,
// into a ring of as many rows as the kernel spans; then every tap is one load and one
// multiply-add with no test, in images of any width.
// NHWC (K = C): vectors of channels (conv_depthwise_nhwc.h); few channels or huge kernels one output at a
// time, taps outside skipped.
//
// The includer defines the macros of ridge_vector.h, CONV_FN and CONV_FP32, CONV_BF16 or CONV_INT8.
//
// FLOP 2*R*S per output, bytes x, w and y once: 18 FLOP per 8 bytes at 3x3 in fp32, so memory
// binds images larger than the caches; inside them the two loads a cycle do (one per
// multiply-add in NCHW, two in NHWC).
// Source: the row-buffer form of direct convolution, as in any image-processing library.
#include "conv_vector.h"

RIDGE_INLINE me load_one(const xt *p) {
#if defined(CONV_BF16)
  return ridge_bf16_to_float(*p);
#else
  return *p;
#endif
}

RIDGE_INLINE RIDGE_VT mv load_vector(const xt *p) {
#if defined(CONV_BF16)
  return (mv)ridge_bf16_load(p);
#elif defined(CONV_INT8)
  return __builtin_convertvector(*(const ridge_vb_any *)p, mv);
#else
  return *(const mv_any *)p;
#endif
}

#include "conv_depthwise_nhwc.h"

// Padded row length in elements: the furthest tap of the last, rounded-up vector, doubled for
// the second load of stride 2.
RIDGE_INLINE int64_t row_length(const ridge_conv_args *a) {
  int64_t read = (ceil_div(a->Wo, VL) * VL - 1) * a->stride_w + (a->S - 1) * a->dil_w + VL + 2;
  int64_t hold = a->pad_w + a->W;
  return ceil_div(read > hold ? read : hold, 16) * 16;
}

RIDGE_INLINE int64_t apart_elements(int64_t n) { return ridge_apart(n * (int64_t)sizeof(me)) / (int64_t)sizeof(me); }

RIDGE_INLINE int64_t thread_elements(const ridge_conv_args *a) {
  int64_t span = (a->R - 1) * a->dil_h + 1;
  return a->layout == 0 ? apart_elements(span * row_length(a) + ceil_div(a->Wo, 16) * 16 + a->R * a->S + 32) : 0;
}

// NHWC: a thread's turned filters.
RIDGE_INLINE int64_t nhwc_elements(const ridge_conv_args *a) { return apart_elements(a->R * a->S * ceil_div(a->K, 32) * 32); }

int64_t CONV_CAT(CONV_FN, _workspace)(const void *args, int32_t nthreads) {
  const ridge_conv_args *a = args;
  if (a->layout == 1) return nthreads * nhwc_elements(a) * (int64_t)sizeof(me);
  return nthreads * thread_elements(a) * (int64_t)sizeof(me);
}

// Copies row hi of a plane, widened, between its left and right padding.
RIDGE_VT static void copy_row(const ridge_conv_args *a, const xt *plane, int64_t hi, me *out) {
  int64_t n = row_length(a), j = 0;
  if (hi < 0 || hi >= a->H) {
    for (; j < n; j++) out[j] = 0;
    return;
  }
  const xt *row = plane + hi * a->W;
  for (; j < a->pad_w; j++) out[j] = 0;
  int64_t i = 0;
  for (; i + VL <= a->W; i += VL) *(mv_any *)(out + j + i) = load_vector(row + i);
  for (; i < a->W; i++) out[j + i] = load_one(row + i);
  for (j += i; j < n; j++) out[j] = 0;
}

// One output row from the ring: rows[r] starts at the row's padding.
RIDGE_INLINE RIDGE_VT void row_sums(const ridge_conv_args *a, const me *ring, int64_t first, int64_t span, int64_t len,
                                    const me *w, const int64_t R, const int64_t S, const int64_t stride, me *out) {
  const me *rows[16]; // a division for each row, not for each vector
  for (int64_t r = 0; r < R && r < 16; r++) rows[r] = ring + (first + r * a->dil_h) % span * len;
  for (int64_t o = 0; o < a->Wo; o += VL) {
    mv acc = {0};
    for (int64_t r = 0; r < R; r++) {
      const me *row = (r < 16 ? rows[r] : ring + (first + r * a->dil_h) % span * len) + o * stride;
      for (int64_t s = 0; s < S; s++) {
        const me *p = row + s * a->dil_w;
        mv x;
        if (stride == 1) {
          x = *(const mv_any *)p;
        } else if (stride == 2) {
          x = (mv)even_lanes(*(const ridge_vi_any *)p, *(const ridge_vi_any *)(p + VL));
        } else {
          for (int l = 0; l < VL; l++) x[l] = p[l * stride];
        }
        acc += x * w[r * S + s];
      }
    }
    *(mv_any *)(out + o) = acc;
  }
}

// Output rows h0 .. h1-1 of plane (n, k).
RIDGE_VT static void plane_rows(const ridge_conv_args *a, int64_t n, int64_t k, int64_t h0, int64_t h1, me *scratch) {
  int64_t span = (a->R - 1) * a->dil_h + 1, len = row_length(a), taps = a->R * a->S;
  const xt *plane = (const xt *)a->x + (n * a->C + k / (a->K / a->C)) * a->H * a->W;
  me *ring = scratch, *out = ring + span * len, *w = out + ceil_div(a->Wo, 16) * 16 + 16;
  for (int64_t i = 0; i < taps; i++) w[i] = load_one((const xt *)a->w + k * taps + i);
  int64_t next = h0 * a->stride_h; // padded row to copy next
  for (int64_t ho = h0; ho < h1; ho++) {
    int64_t first = ho * a->stride_h;
    if (next < first) next = first;
    for (; next < first + span; next++) copy_row(a, plane, next - a->pad_h, ring + next % span * len);
    if (a->stride_w == 1 && a->R == 3 && a->S == 3) row_sums(a, ring, first, span, len, w, 3, 3, 1, out);
    else if (a->stride_w == 2 && a->R == 3 && a->S == 3) row_sums(a, ring, first, span, len, w, 3, 3, 2, out);
    else if (a->stride_w == 1) row_sums(a, ring, first, span, len, w, a->R, a->S, 1, out);
    else row_sums(a, ring, first, span, len, w, a->R, a->S, a->stride_w, out);
    int64_t at = ((n * a->K + k) * a->Ho + ho) * a->Wo, wo = 0;
    for (; wo + VL <= a->Wo; wo += VL) finish_pixels(a, *(const mv_any *)(out + wo), k, at + wo);
    if (wo > 0 && wo < a->Wo) { // the last vector again, as far back as it must begin
      wo = a->Wo - VL;
      finish_pixels(a, *(const mv_any *)(out + wo), k, at + wo);
      continue;
    }
    for (; wo < a->Wo; wo++) finish_one(a, out[wo], k, at + wo);
  }
}

// One output row of all channels, NHWC; w is [tap][K].
RIDGE_VT static void pixel_row(const ridge_conv_args *a, int64_t n, int64_t ho, const me *w) {
  const xt *x = (const xt *)a->x + n * a->H * a->W * a->C;
  for (int64_t wo = 0; wo < a->Wo; wo++) {
    int64_t at = ((n * a->Ho + ho) * a->Wo + wo) * a->K, k = 0;
    for (int64_t step; k < a->K; k += step) {
      step = k + VL <= a->K ? VL : 1;
      mv acc = {0};
      me one = 0;
      for (int64_t r = 0; r < a->R; r++) {
        int64_t hi = ho * a->stride_h - a->pad_h + r * a->dil_h;
        if (hi < 0 || hi >= a->H) continue;
        for (int64_t s = 0; s < a->S; s++) {
          int64_t wi = wo * a->stride_w - a->pad_w + s * a->dil_w;
          if (wi < 0 || wi >= a->W) continue;
          const xt *p = x + (hi * a->W + wi) * a->C + k;
          const me *f = w + (r * a->S + s) * a->K + k;
          if (step == VL) acc += load_vector(p) * *(const mv_any *)f;
          else one += load_one(p) * *f;
        }
      }
      if (step == VL) finish_vector(a, acc, k, 1, at + k);
      else finish_one(a, one, k, at + k);
    }
  }
}

RIDGE_VT int CONV_FN(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  if (ctx->workspace_bytes < CONV_CAT(CONV_FN, _workspace)(args, ctx->nthreads)) return RIDGE_E_WORKSPACE;
  int64_t from, to, taps = a->R * a->S;
  if (a->layout == 1) {
    // Each thread turns the filters for itself: cheaper than to wait for the others.
    me *w = (me *)ctx->workspace + ctx->tid * nhwc_elements(a);
    ridge_share(a->N * a->Ho, 1, ctx->tid, ctx->nthreads, &from, &to);
    if (a->K >= VL) {
      plan p = plan_of(a);
      turn_filters(a, p.vectors, 0, a->K, w);
      depthwise_rows(a, &p, from, to, 0, a->K, w);
      return RIDGE_OK;
    }
    for (int64_t k = 0; k < a->K; k++)
      for (int64_t t = 0; t < taps; t++) w[t * a->K + k] = load_one((const xt *)a->w + k * taps + t);
    for (int64_t u = from; u < to; u++) pixel_row(a, u / a->Ho, u % a->Ho, w);
    return RIDGE_OK;
  }
  me *scratch = (me *)ctx->workspace + ctx->tid * thread_elements(a);
  // Planes are split into bands of rows only when there are few of them: a band copies again
  // the rows it shares with its neighbour.
  int64_t planes = a->N * a->K, bands = planes > 0 ? ceil_div(4 * ctx->nthreads, planes) : 1;
  if (bands > a->Ho) bands = a->Ho;
  ridge_share(planes * bands, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    int64_t band = u % bands, plane = u / bands;
    plane_rows(a, plane / a->K, plane % a->K, a->Ho * band / bands, a->Ho * (band + 1) / bands, scratch);
  }
  return RIDGE_OK;
}
