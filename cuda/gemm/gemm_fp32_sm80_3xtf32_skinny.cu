// gemm and linear at fp32 by three products of tf32 each, with fp32's error, of few rows: see skinny_mma.cuh.
#include "skinny_mma.cuh"

RIDGE_SKINNY_FLOATS(gemm_fp32_sm80_3xtf32_skinny_nn_rows8, Skinny3xTf32, float, false, 4, 1, 1, 16, 3)
RIDGE_SKINNY_FLOATS(gemm_fp32_sm80_3xtf32_skinny_nn_rows16, Skinny3xTf32, float, false, 4, 2, 1, 12, 2)
RIDGE_SKINNY_FLOATS(gemm_fp32_sm80_3xtf32_skinny_nt_rows8, Skinny3xTf32, float, true, 4, 1, 1, 16, 3)
RIDGE_SKINNY_FLOATS(gemm_fp32_sm80_3xtf32_skinny_nt_rows16, Skinny3xTf32, float, true, 4, 2, 1, 12, 2)
