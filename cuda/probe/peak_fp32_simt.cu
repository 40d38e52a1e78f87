// The rate of fma.rn.f32: see peak.cuh.
// sass has peak_fp32_simt sm_90a: 224 FFMA
#include "peak.cuh"

RIDGE_PEAK(peak_fp32_simt, PeakFp32)
