// swiglu at bf16 with fp32 sums of few rows: see swiglu_skinny.cuh.
#include "swiglu_skinny.cuh"

RIDGE_SWIGLU_SKINNY(swiglu_bf16_sm80_skinny_rows8, SkinnyBf16, ridge_bf16, 4, 1, 8, 4)
RIDGE_SWIGLU_SKINNY(swiglu_bf16_sm80_skinny_rows16, SkinnyBf16, ridge_bf16, 4, 2, 8, 3)
