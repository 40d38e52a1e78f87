// attention at bf16 with fp32 sums on Hopper's tensor cores: see attention_wgmma.cuh.
#include "attention_wgmma.cuh"

RIDGE_ATTENTION_WGMMA(attention_bf16_sm90_d64, 64, 3, 128, 4)
RIDGE_ATTENTION_WGMMA(attention_bf16_sm90_d128, 128, 3, 80, 3)
RIDGE_ATTENTION_WGMMA(attention_bf16_sm90_d256, 256, 2, 80, 2)
