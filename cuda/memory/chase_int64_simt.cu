// i = a[i], steps times from where y[0] says that the last launch ended (from 0 where it is no index of one of n elements at which a line
// begins), by one thread; y[0] = the last i. Each load needs the one before it: the time of a step is the latency of
// the level that holds the buffer (a 64-bit address calculation, about 4 to 6 cycles, included). FLOP: 0. Bytes: a line of 64 a step.
#include "ridge_cuda.cuh"

RIDGE_KERNEL(chase_int64_simt, 32)(const int64_t *a, int64_t *y, int64_t n, int64_t steps) {
  int64_t i = y[0];
  if (i < 0 || i >= n || i % 8) i = 0;
#pragma unroll 8
  for (int64_t s = 0; s < steps; s++) i = a[i];
  y[0] = i;
}
RIDGE_ENTRY(chase_int64_simt)
