// The rate of fma.rn.f16x2: see peak.cuh.
#include "peak.cuh"

RIDGE_PEAK(peak_fp16_simt, PeakFp16)
