// gemm at fp16 with fp32 sums on tensor cores: see gemm_mma.cuh.
#include "gemm_mma.cuh"

RIDGE_MMA_FLOATS(gemm_fp16_sm80_nn, ProductFp16, ridge_fp16, 16, false, 128, 128, 64, 64)
RIDGE_MMA_FLOATS(gemm_fp16_sm80_nt, ProductFp16, ridge_fp16, 16, true, 128, 128, 64, 64)
RIDGE_MMA_FLOATS(gemm_fp16_sm80_nn_wide, ProductFp16, ridge_fp16, 16, false, 128, 256, 64, 64)
RIDGE_MMA_FLOATS(gemm_fp16_sm80_nt_wide, ProductFp16, ridge_fp16, 16, true, 128, 256, 64, 64)
