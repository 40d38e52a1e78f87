#include "skinny_mma.cuh"
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nn_rows8, SkinnyTf32, float, false, 4, 1, 2, 8, 2)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nn_rows16, SkinnyTf32, float, false, 4, 2, 2, 8, 2)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nn_narrow_rows8, SkinnyTf32, float, false, 4, 1, 1, 16, 2)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nn_narrow_rows16, SkinnyTf32, float, false, 4, 2, 1, 16, 2)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nt_rows8, SkinnyTf32, float, true, 4, 1, 2, 8, 2)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nt_rows16, SkinnyTf32, float, true, 4, 2, 2, 8, 2)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nt_narrow_rows8, SkinnyTf32, float, true, 4, 1, 1, 16, 2)
RIDGE_SKINNY_FLOATS(gemm_tf32_sm80_skinny_nt_narrow_rows16, SkinnyTf32, float, true, 4, 2, 1, 16, 2)
