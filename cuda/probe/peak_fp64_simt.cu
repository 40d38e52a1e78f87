// The rate of fma.rn.f64: see peak.cuh.
// sass has peak_fp64_simt sm_90a: 224 DFMA
#include "peak.cuh"

RIDGE_PEAK(peak_fp64_simt, PeakFp64)
