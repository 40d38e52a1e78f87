// One step of a vector of sums, for kernels whose precision names its instruction: of float, of pairs of bf16 or of bytes in fours (RIDGE_DOT, with
// CONV_DOT), of pairs of int16 (RIDGE_DOT2).
#ifndef RIDGE_CONV_MAC_H
#define RIDGE_CONV_MAC_H

#include "conv_vector.h"

RIDGE_INLINE RIDGE_VT mv multiply_add(mv sum, mv b, mv x) {
#if defined(CONV_DOT)
  return RIDGE_DOT(sum, b, x);
#elif defined(CONV_INT8)
  return RIDGE_DOT2(sum, b, x);
#else
  return sum + b * x;
#endif
}

#endif
