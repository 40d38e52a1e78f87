// gemm and linear of signed bytes with int32 sums on tensor cores: see gemm_mma.cuh.
#include "gemm_mma.cuh"

RIDGE_MMA_BYTES(gemm_int8_sm80_nn, ProductBytes, 16, false, 128, 128, 64, 64)
RIDGE_MMA_BYTES(gemm_int8_sm80_nt, ProductBytes, 16, true, 128, 128, 64, 64)
RIDGE_MMA_BYTES(gemm_int8_sm80_nn_wide, ProductBytes, 16, false, 128, 256, 64, 64)
RIDGE_MMA_BYTES(gemm_int8_sm80_nt_wide, ProductBytes, 16, true, 128, 256, 64, 64)
RIDGE_MMA_REQUANT(gemm_int8_sm80_requant_nt, ProductBytes, 16, true, 128, 128, 64, 64)
RIDGE_MMA_REQUANT(gemm_int8_sm80_requant_nt_wide, ProductBytes, 16, true, 128, 256, 64, 64)
