// gemm and linear of signed bytes with int32 sums of few rows: see skinny_mma.cuh.
#include "skinny_mma.cuh"

RIDGE_SKINNY_BYTES(gemm_int8_sm80_skinny_nn_rows8, SkinnyBytes, false, 8, 1, 1, 16, 3)
RIDGE_SKINNY_BYTES(gemm_int8_sm80_skinny_nn_rows16, SkinnyBytes, false, 8, 2, 1, 16, 2)
RIDGE_SKINNY_BYTES(gemm_int8_sm80_skinny_nn_narrow_rows8, SkinnyBytes, false, 4, 1, 1, 16, 4)
RIDGE_SKINNY_BYTES(gemm_int8_sm80_skinny_nn_narrow_rows16, SkinnyBytes, false, 4, 2, 1, 16, 3)
RIDGE_SKINNY_BYTES(gemm_int8_sm80_skinny_nt_rows8, SkinnyBytes, true, 4, 1, 1, 16, 3)
RIDGE_SKINNY_BYTES(gemm_int8_sm80_skinny_nt_rows16, SkinnyBytes, true, 4, 2, 1, 16, 2)
RIDGE_SKINNY_REQUANT(gemm_int8_sm80_skinny_requant_nn_rows8, SkinnyBytes, false, 8, 1, 1, 16, 3)
RIDGE_SKINNY_REQUANT(gemm_int8_sm80_skinny_requant_nn_rows16, SkinnyBytes, false, 8, 2, 1, 16, 2)
RIDGE_SKINNY_REQUANT(gemm_int8_sm80_skinny_requant_nn_narrow_rows8, SkinnyBytes, false, 4, 1, 1, 16, 4)
RIDGE_SKINNY_REQUANT(gemm_int8_sm80_skinny_requant_nn_narrow_rows16, SkinnyBytes, false, 4, 2, 1, 16, 3)
RIDGE_SKINNY_REQUANT(gemm_int8_sm80_skinny_requant_nt_rows8, SkinnyBytes, true, 4, 1, 1, 16, 3)
RIDGE_SKINNY_REQUANT(gemm_int8_sm80_skinny_requant_nt_rows16, SkinnyBytes, true, 4, 2, 1, 16, 2)
