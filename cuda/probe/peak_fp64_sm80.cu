// The rate of mma.sync m8n8k4 of fp64: see peak_mma.cuh.
#include "peak_mma.cuh"

RIDGE_PEAK_MMA(peak_fp64_sm80, MmaFp64)
