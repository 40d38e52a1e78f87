// The rate of dp4a.s32.s32: see peak.cuh.
// sass has peak_int8_simt sm_90a: 224 IDP
#include "peak.cuh"

RIDGE_PEAK(peak_int8_simt, PeakBytes)
