// gemm of unsigned by signed bytes with int32 sums on tensor cores, rows at any multiple of an element: see unaligned_mma.cuh.
#include "unaligned_mma.cuh"

RIDGE_MMA_BYTES(gemm_u8s8_sm80_unaligned_nn_by8, ProductUnsignedBytes, 8, false, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_u8s8_sm80_unaligned_nn_by4, ProductUnsignedBytes, 4, false, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_u8s8_sm80_unaligned_nn_by1, ProductUnsignedBytes, 1, false, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_u8s8_sm80_unaligned_nt_by8, ProductUnsignedBytes, 8, true, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_u8s8_sm80_unaligned_nt_by4, ProductUnsignedBytes, 4, true, 128, 128, 64, 32)
RIDGE_MMA_BYTES(gemm_u8s8_sm80_unaligned_nt_by1, ProductUnsignedBytes, 1, true, 128, 128, 64, 32)
