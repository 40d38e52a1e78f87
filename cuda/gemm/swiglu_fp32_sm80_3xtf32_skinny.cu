// swiglu at fp32 by three products of tf32 each, with fp32's error, of few rows: see swiglu_skinny.cuh.
#include "swiglu_skinny.cuh"

RIDGE_SWIGLU_SKINNY(swiglu_fp32_sm80_3xtf32_skinny_rows8, Skinny3xTf32, float, 4, 1, 8, 3)
RIDGE_SWIGLU_SKINNY(swiglu_fp32_sm80_3xtf32_skinny_rows16, Skinny3xTf32, float, 4, 2, 6, 3)
