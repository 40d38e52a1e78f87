// gemm and linear of signed bytes with int32 sums of few tiles on tensor cores, blocks sharing k: see splitk_mma.cuh.
#include "splitk_mma.cuh"

RIDGE_SPLITK_PARTS(gemm_int8_sm80_splitk_nn, ProductBytes, 16, false, 128, 128, 64, 64)
RIDGE_SPLITK_PARTS(gemm_int8_sm80_splitk_nn_rows64, ProductBytes, 16, false, 64, 128, 32, 64)
RIDGE_SPLITK_PARTS(gemm_int8_sm80_splitk_nn_rows32, ProductBytes, 16, false, 32, 128, 32, 32)
RIDGE_SPLITK_PARTS(gemm_int8_sm80_splitk_nt, ProductBytes, 16, true, 128, 128, 64, 64)
RIDGE_SPLITK_PARTS(gemm_int8_sm80_splitk_nt_rows64, ProductBytes, 16, true, 64, 128, 32, 64)
RIDGE_SPLITK_PARTS(gemm_int8_sm80_splitk_nt_rows32, ProductBytes, 16, true, 32, 128, 32, 32)
RIDGE_SPLITK_BYTES(gemm_int8_sm80_splitk_sum)
