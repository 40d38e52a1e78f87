// The rate of mma.sync m16n8k8 of tf32: see peak_mma.cuh.
// sass has peak_tf32_sm80 sm_90a: 32 HMMA
#include "peak_mma.cuh"

RIDGE_PEAK_MMA(peak_tf32_sm80, MmaTf32)
