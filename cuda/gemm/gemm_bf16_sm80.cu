// gemm and linear at bf16 with fp32 sums on tensor cores: see gemm_mma.cuh.
#include "gemm_mma.cuh"

RIDGE_MMA_FLOATS(gemm_bf16_sm80_nn, ProductBf16, ridge_bf16, 16, false, 128, 128, 64, 64)
RIDGE_MMA_FLOATS(gemm_bf16_sm80_nt, ProductBf16, ridge_bf16, 16, true, 128, 128, 64, 64)
RIDGE_MMA_FLOATS(gemm_bf16_sm80_nn_wide, ProductBf16, ridge_bf16, 16, false, 128, 256, 64, 64)
RIDGE_MMA_FLOATS(gemm_bf16_sm80_nt_wide, ProductBf16, ridge_bf16, 16, true, 128, 256, 64, 64)
