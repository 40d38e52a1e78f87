// gemm and linear of signed bytes with int32 sums on tensor cores, rows at any multiple of an element: see unaligned_mma.cuh.
#include "unaligned_mma.cuh"

RIDGE_MMA_BYTES(gemm_int8_sm80_unaligned_nn_by8, ProductBytes, 8, false, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_int8_sm80_unaligned_nn_by4, ProductBytes, 4, false, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_int8_sm80_unaligned_nn_by1, ProductBytes, 1, false, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_int8_sm80_unaligned_nt_by8, ProductBytes, 8, true, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_int8_sm80_unaligned_nt_by4, ProductBytes, 4, true, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_int8_sm80_unaligned_nt_by1, ProductBytes, 1, true, 128, 128, 64, 32)
RIDGE_MMA_REQUANT(gemm_int8_sm80_unaligned_requant_nt_by8, ProductBytes, 8, true, 128, 128, 64, 32)
RIDGE_MMA_REQUANT(gemm_int8_sm80_unaligned_requant_nt_by4, ProductBytes, 4, true, 128, 128, 64, 32)
RIDGE_MMA_REQUANT(gemm_int8_sm80_unaligned_requant_nt_by1, ProductBytes, 1, true, 128, 128, 64, 32)
