// The rate of mma.sync m16n8k16 of bf16: see peak_mma.cuh.
#include "peak_mma.cuh"

RIDGE_PEAK_MMA(peak_bf16_sm80, MmaBf16)
