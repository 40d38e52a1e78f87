// gemm at fp64 on tensor cores: see gemm_mma.cuh.
#include "gemm_mma.cuh"

RIDGE_MMA_FLOATS(gemm_fp64_sm80_nn, ProductFp64, double, 16, false, 128, 64, 64, 32)
RIDGE_MMA_FLOATS(gemm_fp64_sm80_nt, ProductFp64, double, 16, true, 128, 64, 64, 32)
