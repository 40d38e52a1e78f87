// gemm and linear at int8 by dp4a: see gemm_dp4a.cuh.
#include "gemm_dp4a.cuh"

RIDGE_GEMM_DP4A(gemm_int8_simt, SumBytes)
RIDGE_GEMM_REQUANT(gemm_int8_simt_requant, SumBytes)
