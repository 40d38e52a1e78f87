// The rate of dp4a.s32.s32: see peak.cuh.
#include "peak.cuh"

RIDGE_PEAK(peak_int8_simt, PeakBytes)
