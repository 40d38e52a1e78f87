// gemm and linear at tf32 with fp32 sums of few rows: see skinny_mma.cuh.
#include "skinny_mma.cuh"

RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nn_rows8, SkinnyTf32, float, false, 4, 1, 1, 16, 3)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nn_rows16, SkinnyTf32, float, false, 4, 2, 1, 12, 2)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nt_rows8, SkinnyTf32, float, true, 4, 1, 1, 16, 3)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nt_rows16, SkinnyTf32, float, true, 4, 2, 1, 12, 2)
