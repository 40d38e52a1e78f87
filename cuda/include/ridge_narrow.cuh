// Number formats that only products have: load() gives their value. ridge_tf32 is stored as fp32 and rounded when it is loaded.
#ifndef RIDGE_NARROW_CUH
#define RIDGE_NARROW_CUH

#include "ptx_tf32.cuh"

struct ridge_tf32 {
  float stored;
};
struct ridge_e4m3 { // fp8_e4m3: bias 7, largest 448, no infinity, all ones is NaN
  unsigned char bits;
};

__device__ __forceinline__ float load(ridge_tf32 x) { return tf32_value(tf32_of(x.stored)); }

__device__ __forceinline__ float load(ridge_e4m3 x) {
  const unsigned magnitude = x.bits & 0x7fu;
  if (magnitude == 0x7fu) return __uint_as_float(0x7fffffffu);
  return __uint_as_float((x.bits & 0x80u) << 24 | magnitude << 20) * 0x1p120f; // exact, denormals too
}

template <> struct element<ridge_e4m3> {
  typedef float wide;
  // To nearest, ties to even, saturated.
  static __device__ __forceinline__ ridge_e4m3 store(float x) {
    const unsigned u = __float_as_uint(x), sign = u >> 24 & 0x80u, a = u & 0x7fffffffu;
    unsigned magnitude;
    if (a > 0x7f800000u) {
      magnitude = 0x7f;
    } else if (a < 0x3c800000u) { // below 2^-6 steps of 2^-9: there adding 2^14 puts the rounding point of the sum
      magnitude = __float_as_uint(__uint_as_float(a) + 0x1p14f) - 0x46800000u;
    } else {
      const unsigned r = (a + 0x7ffffu + (a >> 20 & 1)) >> 20;
      magnitude = r > 0x43eu ? 0x7eu : r - (120u << 3);
    }
    return {(unsigned char)(sign | magnitude)};
  }
};

#endif
