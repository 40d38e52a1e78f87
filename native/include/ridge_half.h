// Scalar conversions between fp32 and the 16-bit formats: round to nearest, ties to even,
// denormals kept, overflow to infinity, NaN stays NaN (quiet). Used by portable kernels and tails.
#ifndef RIDGE_HALF_H
#define RIDGE_HALF_H

#include <stdint.h>
#include <string.h>

#include "ridge.h"

typedef uint16_t ridge_bf16; // storage only
typedef uint16_t ridge_fp16; // storage only

RIDGE_INLINE float ridge_u32_as_float(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

RIDGE_INLINE uint32_t ridge_float_as_u32(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

RIDGE_INLINE float ridge_bf16_to_float(ridge_bf16 h) { return ridge_u32_as_float((uint32_t)h << 16); }

RIDGE_INLINE ridge_bf16 ridge_float_to_bf16(float f) {
  uint32_t u = ridge_float_as_u32(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (ridge_bf16)(u >> 16 | 0x40);
  return (ridge_bf16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

RIDGE_INLINE float ridge_fp16_to_float(ridge_fp16 h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
  if (e == 31) return ridge_u32_as_float(sign | 0x7f800000u | m << 13);
  if (e == 0) {
    float v = (float)m * 0x1p-24f;
    return sign ? -v : v;
  }
  return ridge_u32_as_float(sign | (e + 112) << 23 | m << 13);
}

RIDGE_INLINE ridge_fp16 ridge_float_to_fp16(float f) {
  uint32_t u = ridge_float_as_u32(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return (ridge_fp16)(sign | 0x7e00);
  if (a >= 0x477ff000u) return (ridge_fp16)(sign | 0x7c00); // 65520 and above round to infinity
  if (a < 0x38800000u) {                                    // below 2^-14: denormal, steps of 2^-24
    // Adding 0.5 puts the rounding point of the sum at 2^-24: the FPU rounds to even for us.
    float r = ridge_u32_as_float(a) + 0.5f;
    return (ridge_fp16)(sign | (ridge_float_as_u32(r) - 0x3f000000u));
  }
  a += 0xfff + (a >> 13 & 1);
  return (ridge_fp16)(sign | ((a - 0x38000000u) >> 13));
}

#endif
