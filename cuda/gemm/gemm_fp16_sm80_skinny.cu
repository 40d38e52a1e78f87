// gemm at fp16 with fp32 sums of few rows: see skinny_mma.cuh.
#include "skinny_mma.cuh"

RIDGE_SKINNY_FLOATS(gemm_fp16_sm80_skinny_nn_rows8, SkinnyFp16, ridge_fp16, false, 8, 1, 1, 16, 4)
RIDGE_SKINNY_FLOATS(gemm_fp16_sm80_skinny_nn_rows16, SkinnyFp16, ridge_fp16, false, 8, 2, 1, 16, 2)
RIDGE_SKINNY_FLOATS(gemm_fp16_sm80_skinny_nn_narrow_rows8, SkinnyFp16, ridge_fp16, false, 4, 1, 1, 16, 6)
RIDGE_SKINNY_FLOATS(gemm_fp16_sm80_skinny_nn_narrow_rows16, SkinnyFp16, ridge_fp16, false, 4, 2, 1, 16, 4)
RIDGE_SKINNY_FLOATS(gemm_fp16_sm80_skinny_nt_rows8, SkinnyFp16, ridge_fp16, true, 4, 1, 1, 16, 2)
RIDGE_SKINNY_FLOATS(gemm_fp16_sm80_skinny_nt_rows16, SkinnyFp16, ridge_fp16, true, 4, 2, 1, 16, 2)
