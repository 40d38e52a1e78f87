// The rate of mma.sync m16n8k32 of signed bytes: see peak_mma.cuh.
// sass has peak_int8_sm80 sm_90a: 32 IMMA
#include "peak_mma.cuh"

RIDGE_PEAK_MMA(peak_int8_sm80, MmaBytes)
