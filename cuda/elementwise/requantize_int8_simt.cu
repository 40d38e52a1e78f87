// y = act(round(scale[channel]·a)), saturated: int32 sums to int8 (ridge_epilogue.cuh); element i belongs to channel i / inner % channels.
// FLOP: 1 or 2 an element; bytes: 5 an element. The memory's bandwidth should bind: neighbouring threads have neighbouring elements (a line
// of a and a quarter of y a warp). Numbers of elements are below 2^31 (elementwise.go launches pieces), so divisions are of 32 bits.
#include "ridge_epilogue.cuh"

RIDGE_KERNEL(requantize_int8_simt, 256)
(int64_t elements, int64_t channels, int64_t inner, const int32_t *a, const float *scale, int8_t *y, int64_t act) {
  const unsigned n = (unsigned)elements, c = (unsigned)channels, in = (unsigned)inner, all = (unsigned)all_threads();
  for (unsigned i = (unsigned)global_thread(); i < n; i += all) y[i] = requantise(a[i], scale[i / in % c], act == ACT_RELU);
}
RIDGE_ENTRY(requantize_int8_simt)
