// gemm and linear at bf16 with fp32 sums on tensor cores, rows at any multiple of an element: see unaligned_mma.cuh.
#include "unaligned_mma.cuh"

RIDGE_MMA_FLOATS(gemm_bf16_sm80_unaligned_nn_by8, ProductBf16, ridge_bf16, 8, false, 128, 128, 64, 32)
RIDGE_MMA_FLOATS(gemm_bf16_sm80_unaligned_nn_by4, ProductBf16, ridge_bf16, 4, false, 128, 128, 64, 32)
RIDGE_MMA_FLOATS(gemm_bf16_sm80_unaligned_nn_by2, ProductBf16, ridge_bf16, 2, false, 128, 128, 64, 32)
RIDGE_MMA_FLOATS(gemm_bf16_sm80_unaligned_nt_by8, ProductBf16, ridge_bf16, 8, true, 128, 128, 64, 32)
RIDGE_MMA_FLOATS(gemm_bf16_sm80_unaligned_nt_by4, ProductBf16, ridge_bf16, 4, true, 128, 128, 64, 32)
RIDGE_MMA_FLOATS(gemm_bf16_sm80_unaligned_nt_by2, ProductBf16, ridge_bf16, 2, true, 128, 128, 64, 32)
