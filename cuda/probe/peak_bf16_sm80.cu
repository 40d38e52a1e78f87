// The rate of mma.sync m16n8k16 of bf16: see peak_mma.cuh.
// sass has peak_bf16_sm80 sm_90a: 32 HMMA
#include "peak_mma.cuh"

RIDGE_PEAK_MMA(peak_bf16_sm80, MmaBf16)
