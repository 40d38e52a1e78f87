// swiglu at bf16 with fp32 sums of few tiles on tensor cores, blocks sharing k: see swiglu_splitk.cuh.
#include "swiglu_splitk.cuh"

RIDGE_SWIGLU_PARTS(swiglu_bf16_sm80_splitk, ProductBf16, 128, 128, 64, 64)
RIDGE_SWIGLU_PARTS(swiglu_bf16_sm80_splitk_rows64, ProductBf16, 64, 128, 32, 64)
RIDGE_SWIGLU_PARTS(swiglu_bf16_sm80_splitk_rows32, ProductBf16, 32, 128, 32, 32)
RIDGE_SWIGLU_SUM(swiglu_bf16_sm80_splitk_sum, ridge_bf16)
