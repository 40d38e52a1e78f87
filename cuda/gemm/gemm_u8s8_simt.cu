// gemm of unsigned by signed bytes by dp4a: see gemm_dp4a.cuh.
#include "gemm_dp4a.cuh"

RIDGE_GEMM_DP4A(gemm_u8s8_simt, SumUnsignedBytes)
