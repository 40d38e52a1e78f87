// swiglu at bf16 with fp32 sums on tensor cores: see swiglu_mma.cuh.
#include "swiglu_mma.cuh"

RIDGE_SWIGLU_MMA(swiglu_bf16_sm80, ProductBf16, ridge_bf16, 128, 128, 64, 64)
RIDGE_SWIGLU_MMA(swiglu_bf16_sm80_wide, ProductBf16, ridge_bf16, 128, 256, 64, 64)
