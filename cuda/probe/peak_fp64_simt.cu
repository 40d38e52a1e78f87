// The rate of fma.rn.f64: see peak.cuh.
#include "peak.cuh"

RIDGE_PEAK(peak_fp64_simt, PeakFp64)
