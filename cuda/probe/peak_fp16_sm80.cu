// The rate of mma.sync m16n8k16 of fp16 with sums of fp32: see peak_mma.cuh.
// sass has peak_fp16_sm80 sm_90a: 32 HMMA
#include "peak_mma.cuh"

RIDGE_PEAK_MMA(peak_fp16_sm80, MmaFp16)
