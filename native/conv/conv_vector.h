// What the vector kernels of conv share: element types and the epilogue.
//
// The includer defines the macros of ridge_vector.h and one of CONV_FP32, CONV_BF16, CONV_INT8.
// x and w have elements xt; bias, residual and y have yt; sums are me, vectors of sums mv.
#ifndef RIDGE_CONV_VECTOR_H
#define RIDGE_CONV_VECTOR_H

// Vectors wider than the target's registers pass between functions of one file only: no ABI is at stake.
#if defined(RIDGE_MODEL) && defined(__clang__)
#pragma clang diagnostic ignored "-Wpsabi"
#endif

#include "../include/ridge_half.h"
#include "../include/ridge_vector.h"
#include "conv.h"

#if defined(CONV_FP32)
typedef float xt;
typedef float yt;
#elif defined(CONV_BF16)
typedef ridge_bf16 xt;
typedef ridge_bf16 yt;
#else
typedef int8_t xt;
typedef int32_t yt;
#endif
#if defined(CONV_INT8)
typedef int32_t me;
typedef ridge_vi mv;
typedef int32_t mv_any __attribute__((vector_size(RIDGE_VL * 4), aligned(2), may_alias)); // pairs lie where int16 may
#else
typedef float me;
typedef ridge_vf mv;
typedef ridge_vf_any mv_any;
#endif
enum { VL = RIDGE_VL };
#if defined(CONV_INT8)
#include "conv_requant.h"
#endif

#define CONV_CAT2(a, b) a##b
#define CONV_CAT(a, b) CONV_CAT2(a, b)

RIDGE_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Lanes 0, 2, 4, ... of two neighbouring vectors.
RIDGE_INLINE RIDGE_VT ridge_vi even_lanes(ridge_vi a, ridge_vi b) {
#if RIDGE_VL == 4
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#elif RIDGE_VL == 8
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#endif
}

// Lanes 1, 3, 5, ... of two neighbouring vectors.
RIDGE_INLINE RIDGE_VT ridge_vi odd_lanes(ridge_vi a, ridge_vi b) {
#if RIDGE_VL == 4
  return __builtin_shufflevector(a, b, 1, 3, 5, 7);
#elif RIDGE_VL == 8
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#endif
}

#if !defined(CONV_INT8)
// The activations in fp32, errors of a few u*|x|: sigmoid forms over 2^x, and
// erfc by Abramowitz and Stegun 7.1.26 (absolute error 1.5e-7 = 2.5 u).
// Below -88 the other activations are less than 1e-36 in size; there -infinity, whose limit is 0, would meet a factor of 0.
RIDGE_INLINE RIDGE_VT ridge_vf activate(ridge_vf x, int act) {
  const float log2e = 1.44269504f;
  if (act == RIDGE_ACT_NONE) return x;
  if (act == RIDGE_ACT_RELU) return (ridge_vf)((ridge_vi)x & ~(x < 0));
  x = (ridge_vf)((ridge_vi)x & ~(x < -88.0f)); // NaN stays
  switch (act) {
    case RIDGE_ACT_SILU: return x / (1.0f + ridge_vexp2(x * -log2e));
    case RIDGE_ACT_GELU_TANH: {
      ridge_vf z = x * (x * x * 0.044715f + 1.0f);
      return x / (1.0f + ridge_vexp2(z * (-2 * 0.79788456f * log2e)));
    }
    case RIDGE_ACT_GELU: {
      ridge_vf t = (ridge_vf)((ridge_vi)x & 0x7fffffff); // |x|
      const ridge_vi far = t > 20.0f; // where h is 0: infinity would meet a factor of 0 there too
      t = (ridge_vf)(((ridge_vi)t & ~far) | ((ridge_vi)((ridge_vf){0} + 20.0f) & far));
      ridge_vf k = 1.0f / (1.0f + t * (0.3275911f * 0.70710678f));
      ridge_vf p = k * 1.061405429f - 1.453152027f;
      p = p * k + 1.421413741f;
      p = p * k - 0.284496736f;
      p = p * k + 0.254829592f;
      ridge_vf h = t * 0.5f * p * k * ridge_vexp2(t * t * (-0.5f * log2e)); // |x|/2 * erfc(|x|/sqrt 2)
      ridge_vi negative = x < 0;
      return (ridge_vf)((ridge_vi)(x - h) & ~negative) - (ridge_vf)((ridge_vi)h & negative);
    }
  }
  return x;
}
__attribute__((noinline, unused)) RIDGE_VT static ridge_vf activate_slowly(ridge_vf x, int act) { return activate(x, act); }
#endif

#if defined(CONV_BF16)
// Rounds VL sums to bf16; an instruction (RIDGE_NARROW) also flushes denormals.
RIDGE_INLINE RIDGE_VT void store_bf16(ridge_bf16 *p, mv v) {
#if defined(RIDGE_NARROW)
  RIDGE_NARROW(p, v);
#else
  ridge_bf16_store(p, v);
#endif
}
#endif

// VL neighbouring elements of bias, residual or y.
RIDGE_INLINE RIDGE_VT mv load_out(const yt *p) {
#if defined(CONV_BF16)
  return (mv)ridge_bf16_load(p);
#else
  return *(const mv_any *)p;
#endif
}
// One element of them.
RIDGE_INLINE me one_out(const yt *p) {
#if defined(CONV_BF16)
  return ridge_bf16_to_float(*p);
#else
  return *p;
#endif
}
RIDGE_INLINE RIDGE_VT void store_out(yt *p, mv v) {
#if defined(CONV_BF16)
  store_bf16(p, v);
#else
  *(mv_any *)p = v;
#endif
}

// a + b; integer sums wrap.
RIDGE_INLINE RIDGE_VT mv plus(mv a, mv b) {
#if defined(CONV_INT8)
  return (mv)((ridge_vu)a + (ridge_vu)b);
#else
  return a + b;
#endif
}

// The end of one sum: bias, residual, activation, one rounding. k: output channel, at: place in y.
RIDGE_INLINE void finish_one(const ridge_conv_args *a, me v, int64_t k, int64_t at) {
  const yt *bias = a->bias, *res = a->residual;
#if defined(CONV_INT8)
  uint32_t u = (uint32_t)v;
  if (bias) u += (uint32_t)bias[k];
  if (res) u += (uint32_t)res[at];
  if (a->scale) ((int8_t *)a->y)[at] = ridge_requantise(u, a->scale[k], ridge_requant_low(a->act));
  else ((yt *)a->y)[at] = (int32_t)u;
#elif defined(CONV_BF16)
  double d = v;
  if (bias) d += (double)ridge_bf16_to_float(bias[k]);
  if (res) d += (double)ridge_bf16_to_float(res[at]);
  d = ridge_act_double(d, a->act);
  ((yt *)a->y)[at] = ridge_float_to_bf16((float)d);
#else
  double d = v;
  if (bias) d += (double)bias[k];
  if (res) d += (double)res[at];
  d = ridge_act_double(d, a->act);
  ((yt *)a->y)[at] = (float)d;
#endif
}

// VL sums whose places in y are neighbours: pixels of channel k (channels = 0) or channels from
// k of one pixel (channels = 1).
RIDGE_INLINE RIDGE_VT void finish_vector(const ridge_conv_args *a, mv v, int64_t k, const int channels, int64_t at) {
  const yt *bias = a->bias, *res = a->residual;
#if defined(CONV_INT8)
  ridge_vu u = (ridge_vu)v;
  if (bias && channels) u += (ridge_vu) * (const ridge_vi_any *)(bias + k);
  if (bias && !channels) u += (uint32_t)bias[k];
  if (res) u += (ridge_vu) * (const ridge_vi_any *)(res + at);
  if (!a->scale) {
    *(ridge_vi_any *)((yt *)a->y + at) = (ridge_vi)u;
    return;
  }
  ridge_vf scale = channels ? (ridge_vf) * (const ridge_vf_any *)(a->scale + k) : a->scale[k] - (ridge_vf){0};
  store_requantised((int8_t *)a->y + at, (ridge_vi)u, scale, ridge_requant_low(a->act));
#elif defined(CONV_BF16)
  if (bias && channels) v += (ridge_vf)ridge_bf16_load(bias + k);
  if (bias && !channels) v += ridge_bf16_to_float(bias[k]);
  if (res) v += (ridge_vf)ridge_bf16_load(res + at);
  v = activate(v, a->act);
  store_bf16((yt *)a->y + at, v);
#else
  if (bias && channels) v += *(const ridge_vf_any *)(bias + k);
  if (bias && !channels) v += bias[k];
  if (res) v += *(const ridge_vf_any *)(res + at);
  v = activate(v, a->act);
  *(ridge_vf_any *)((yt *)a->y + at) = v;
#endif
}

__attribute__((noinline, unused)) RIDGE_VT static void finish_slowly(const ridge_conv_args *a, mv v, int64_t k, int64_t at) {
  finish_vector(a, v, k, 1, at);
}

// VL channels from k of one pixel, where the code of every activation would be in the way.
RIDGE_INLINE RIDGE_VT void finish_channels(const ridge_conv_args *a, mv v, int64_t k, int64_t at) {
#if defined(CONV_INT8)
  finish_vector(a, v, k, 1, at);
#else
  if (a->act != RIDGE_ACT_NONE && a->act != RIDGE_ACT_RELU) {
    finish_slowly(a, v, k, at);
    return;
  }
  if (a->bias) v = plus(v, load_out((const yt *)a->bias + k));
  if (a->residual) v = plus(v, load_out((const yt *)a->residual + at));
  if (a->act == RIDGE_ACT_RELU) v = activate(v, RIDGE_ACT_RELU);
  store_out((yt *)a->y + at, v);
#endif
}

// The same for VL pixels of channel k, neighbours in y.
__attribute__((noinline, unused)) RIDGE_VT static void finish_pixels_slowly(const ridge_conv_args *a, mv v, int64_t k, int64_t at) {
  finish_vector(a, v, k, 0, at);
}
RIDGE_INLINE RIDGE_VT void finish_pixels(const ridge_conv_args *a, mv v, int64_t k, int64_t at) {
#if defined(CONV_INT8)
  finish_vector(a, v, k, 0, at);
#else
  if (a->act != RIDGE_ACT_NONE && a->act != RIDGE_ACT_RELU) {
    finish_pixels_slowly(a, v, k, at);
    return;
  }
  if (a->bias) v += one_out((const yt *)a->bias + k);
  if (a->residual) v = plus(v, load_out((const yt *)a->residual + at));
  if (a->act == RIDGE_ACT_RELU) v = activate(v, RIDGE_ACT_RELU);
  store_out((yt *)a->y + at, v);
#endif
}

#endif
