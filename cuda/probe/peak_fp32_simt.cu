// The rate of fma.rn.f32: see peak.cuh.
#include "peak.cuh"

RIDGE_PEAK(peak_fp32_simt, PeakFp32)
