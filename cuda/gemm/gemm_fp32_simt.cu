// gemm and linear at fp32 with fp32 sums: see gemm_simt.cuh.
#include "gemm_simt.cuh"

RIDGE_GEMM_SIMT(gemm_fp32_simt, float, float, float)
