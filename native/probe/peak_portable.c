// peak_{fp64,fp32}_portable: multiply-add steps of single numbers in plain C.
//
// x_c <- x_c*a + b, then x_c <- x_c*a - b, with a = -1 and b from memory, for 12 chains; 96
// steps (192 FLOP) per turn. Preconditions: instructions a multiple of RIDGE_PROBE_UNIT.
// No bytes. Limited by what the compiler makes of it: it may fuse or pack the steps, which
// changes the time but not the count. It says what plain C reaches, not what the core can.
// Version 1: as described.
#include "peak.h"

#define CHAINS 12
#define RUN(T, name)                                                             \
  RIDGE_INLINE void name(int64_t turns, const void *operands, T *acc) {          \
    const T *op = operands;                                                      \
    T a = op[0], b = op[2], x[CHAINS] = {0};                                     \
    for (; turns > 0; turns--)                                                   \
      for (int s = 0; s < 4; s++) {                                              \
        for (int c = 0; c < CHAINS; c++) x[c] = x[c] * a + b;                    \
        for (int c = 0; c < CHAINS; c++) x[c] = x[c] * a - b;                    \
      }                                                                          \
    for (int c = 0; c < CHAINS; c++) acc[c] = x[c];                              \
  }

RUN(double, run_fp64)
RUN(float, run_fp32)
RIDGE_PEAK_KERNEL(peak_fp64_portable, , double, CHAINS, 96, run_fp64)
RIDGE_PEAK_KERNEL(peak_fp32_portable, , float, CHAINS, 96, run_fp32)
