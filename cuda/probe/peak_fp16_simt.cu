// The rate of fma.rn.f16x2: see peak.cuh.
// sass has peak_fp16_simt sm_90a: 224 HFMA2
#include "peak.cuh"

RIDGE_PEAK(peak_fp16_simt, PeakFp16)
