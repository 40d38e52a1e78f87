// gemm of unsigned by signed bytes with int32 sums on tensor cores: see gemm_mma.cuh.
#include "gemm_mma.cuh"

RIDGE_MMA_BYTES(gemm_u8s8_sm80_nn, ProductUnsignedBytes, 16, false, 128, 128, 64, 64)
RIDGE_MMA_BYTES(gemm_u8s8_sm80_nt, ProductUnsignedBytes, 16, true, 128, 128, 64, 64)
RIDGE_MMA_BYTES(gemm_u8s8_sm80_nn_wide, ProductUnsignedBytes, 16, false, 128, 256, 64, 64)
RIDGE_MMA_BYTES(gemm_u8s8_sm80_nt_wide, ProductUnsignedBytes, 16, true, 128, 256, 64, 64)
