// Shared by the conv kernels: element strides of the two layouts and the scalar activation.
#ifndef RIDGE_CONV_LOCAL_H
#define RIDGE_CONV_LOCAL_H

#include <math.h>
#include <string.h>

#include "../include/ridge_conv.h"
#include "../include/ridge_gemm.h"

// Element strides between channels and between pixels (of one image), and between channels
// and taps of one filter.
typedef struct ridge_conv_strides {
  int64_t x_chan, x_pix, y_chan, y_pix, w_chan, w_tap;
} ridge_conv_strides;

RIDGE_INLINE ridge_conv_strides ridge_conv_layout(const ridge_conv_args *a) {
  int64_t cg = a->C / a->groups;
  if (a->layout == 0) return (ridge_conv_strides){a->H * a->W, 1, a->Ho * a->Wo, 1, a->R * a->S, 1};
  return (ridge_conv_strides){1, a->C, 1, a->K, 1, cg};
}

// Outputs of a side of Winograd's tiles: 4, or 2 where there are few tiles of 4 (conv_winograd_body.h).
RIDGE_INLINE int64_t ridge_conv_winograd_step(const ridge_conv_args *a) {
  return a->N * ((a->Ho + 3) / 4) * ((a->Wo + 3) / 4) < 12 ? 2 : 4;
}

// The bounds of a requantised result: the lower one is 0 with ReLU.
RIDGE_INLINE float ridge_requant_low(int act) { return act == RIDGE_ACT_RELU ? 0 : -128; }

// One requantised result (ridge_conv.h): round by adding 1.5*2^23, whose low bits then hold the integer.
RIDGE_INLINE int8_t ridge_requantise(uint32_t sum, float scale, float low) {
  float v = (float)(int32_t)sum * scale;
  v = v < low ? low : v;
  v = v > 127 ? 127 : v;
  v += 12582912.0f;
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return (int8_t)(uint8_t)bits;
}

RIDGE_INLINE double ridge_act_double(double x, int act) {
  if (x == -INFINITY && act != RIDGE_ACT_NONE) return 0; // the limit; below, infinity would meet a factor of 0
  switch (act) {
    case RIDGE_ACT_RELU: return x < 0 ? 0 : x; // NaN stays
    case RIDGE_ACT_GELU: return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case RIDGE_ACT_GELU_TANH: return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case RIDGE_ACT_SILU: return x / (1 + exp(-x));
  }
  return x;
}

#endif
