// gemm at fp64 on tensor cores, rows at any multiple of an element: see unaligned_mma.cuh.
#include "unaligned_mma.cuh"

RIDGE_MMA_FLOATS(gemm_fp64_sm80_unaligned_nn_by8, ProductFp64, double, 8, false, 128, 64, 64, 32)
RIDGE_MMA_FLOATS(gemm_fp64_sm80_unaligned_nt_by8, ProductFp64, double, 8, true, 128, 64, 64, 32)
