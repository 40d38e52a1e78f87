// The body of conv2d_*_depthwise_*: one input channel per group (groups = C).
//
//   y[n,k,ho,wo] = act(bias[k] + sum over r,s of x[n, k/(K/C), ho*stride-pad+r*dil, ...] * w[k,r,s] + residual)
//
// NCHW: blocks of output rows, vectors of their columns (conv_depthwise_nchw.h, conv_depthwise_in_place.h).
// NHWC (K = C): vectors of channels (conv_depthwise_nhwc.h); few channels or huge kernels one output at a
// time, taps outside skipped.
//
// The includer defines the macros of ridge_vector.h, CONV_FN and CONV_FP32, CONV_BF16 or CONV_INT8.
//
// FLOP 2*R*S per output, bytes x, w and y once: 18 FLOP per 8 bytes at 3x3 in fp32, so memory
// binds images larger than the caches; inside them multiply-adds do in NCHW, and the two loads a cycle in NHWC.
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
  return ridge_widen_s8(p);
#else
  return *(const mv_any *)p;
#endif
}

#include "conv_depthwise_nhwc.h"
#include "conv_depthwise_nchw.h"

// NHWC: a thread's turned filters.
RIDGE_INLINE int64_t nhwc_elements(const ridge_conv_args *a) { return apart_elements(a->R * a->S * ceil_div(a->K, 32) * 32); }

int64_t CONV_CAT(CONV_FN, _workspace)(const void *args, int32_t nthreads) {
  const ridge_conv_args *a = args;
  if (a->layout == 1) return nthreads * nhwc_elements(a) * (int64_t)sizeof(me);
  return nthreads * nchw_elements(a) * (int64_t)sizeof(me);
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
  me *scratch = (me *)ctx->workspace + ctx->tid * nchw_elements(a);
  // Planes are split into bands of rows only when there are few of them: a band copies again
  // the rows it shares with its neighbour.
  int64_t planes = a->N * a->K, bands = planes > 0 ? ceil_div(4 * ctx->nthreads, planes) : 1;
  if (bands > a->Ho) bands = a->Ho;
  ridge_share(planes * bands, 1, ctx->tid, ctx->nthreads, &from, &to);
  if (from == to) return RIDGE_OK;
  const int64_t limit = (to / bands * a->Ho + a->Ho * (to % bands) / bands) * a->Wo; // a thread's rows follow each other in y
  const int in_place = reads_in_place(a);
  struct in_place where = {0};
  plane p = {0};
  if (in_place) where = in_place_of(a, scratch);
  else p = plane_of(a, scratch);
  for (int64_t u = from; u < to; u++) {
    const int64_t band = u % bands, at = u / bands, h0 = a->Ho * band / bands, h1 = a->Ho * (band + 1) / bands;
    if (in_place) rows_where_they_lie(a, &where, at / a->K, at % a->K, h0, h1, limit);
    else plane_rows(a, &p, at / a->K, at % a->K, h0, h1, limit);
  }
  return RIDGE_OK;
}
