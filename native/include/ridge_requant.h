// One requantised sum: what int8 kernels store instead of an int32.
//
//   y = low(round(scale * (float)sum)), at most 127
//
// The sum's conversion to float rounds once and the product once more (one multiplication, never fused with what
// follows); low raises to -128, with ReLU to 0; round is to the nearest integer, halves to even. scale is finite
// and >= 0. Each step is exactly this one, so all kernels give the same bits.
#ifndef RIDGE_REQUANT_H
#define RIDGE_REQUANT_H

#include <stdint.h>
#include <string.h>

#include "ridge.h"

// Both bounds are whole numbers, so they may come before the rounding: products beyond int32 cannot wrap. The
// rounding adds 1.5*2^23, whose low bits then hold the integer; the comparisons keep it from being fused with the product.
RIDGE_INLINE int8_t ridge_requant_one(int32_t sum, float scale, float low) {
  float v = (float)sum * scale;
  v = v < low ? low : v;
  v = v > 127 ? 127 : v;
  v += 12582912.0f;
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return (int8_t)(uint8_t)bits;
}

#endif
