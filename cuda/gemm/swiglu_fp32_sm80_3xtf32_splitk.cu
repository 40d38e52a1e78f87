// swiglu at fp32 by three products of tf32 each, with fp32's error, of few tiles, blocks sharing k: see swiglu_splitk.cuh.
#include "ridge_mma_tf32.cuh"
#include "swiglu_splitk.cuh"

RIDGE_SWIGLU_PARTS(swiglu_fp32_sm80_3xtf32_splitk, Product3xTf32, 128, 128, 64, 32)
RIDGE_SWIGLU_PARTS(swiglu_fp32_sm80_3xtf32_splitk_rows64, Product3xTf32, 64, 128, 32, 32)
RIDGE_SWIGLU_PARTS(swiglu_fp32_sm80_3xtf32_splitk_rows32, Product3xTf32, 32, 128, 32, 32)
RIDGE_SWIGLU_SUM(swiglu_fp32_sm80_3xtf32_splitk_sum, float)
