// attention at bf16 with fp32 sums on tensor cores: see attention_mma.cuh.
#include "attention_mma.cuh"

RIDGE_ATTENTION_MMA(attention_bf16_sm80_d64, MmaBf16, ridge_bf16, 64)
RIDGE_ATTENTION_MMA(attention_bf16_sm80_d80, MmaBf16, ridge_bf16, 80)
RIDGE_ATTENTION_MMA(attention_bf16_sm80_d96, MmaBf16, ridge_bf16, 96)
RIDGE_ATTENTION_MMA(attention_bf16_sm80_d128, MmaBf16, ridge_bf16, 128)
RIDGE_ATTENTION_MMA(attention_bf16_sm80_d256, MmaBf16, ridge_bf16, 256)
