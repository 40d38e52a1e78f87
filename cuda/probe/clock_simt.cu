// The clock of a multiprocessor: cycles of a chain of dependent multiply-adds over the nanoseconds
// of the device's global timer. Every thread of the grid runs the chain, so that a full grid measures
// the clock under load; thread 0 of block 0 reports. out[0] cycles, out[1] nanoseconds, out[2] keeps
// the chain alive. 2 FLOP a step; the chain's latency (4 cycles on 8.0 to 9.0) binds.
#include "ridge_cuda.cuh"

RIDGE_KERNEL(clock_simt, 256)(uint64_t *out, int64_t steps) {
  float x = (float)threadIdx.x;
  const uint64_t t0 = ridge_timer(), c0 = ridge_clock();
  for (int64_t i = 0; i < steps; i++) x = fmaf(x, 0.999f, 1.0f);
  const uint64_t c1 = ridge_clock(), t1 = ridge_timer();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    out[0] = c1 - c0;
    out[1] = t1 - t0;
    out[2] = (uint64_t)x;
  }
}
RIDGE_ENTRY(clock_simt)
