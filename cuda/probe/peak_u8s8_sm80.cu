// The rate of mma.sync m16n8k32 of unsigned and signed bytes: see peak_mma.cuh.
// sass has peak_u8s8_sm80 sm_90a: 32 IMMA
#include "peak_mma.cuh"

RIDGE_PEAK_MMA(peak_u8s8_sm80, MmaUnsignedBytes)
