// gemm and linear at bf16 with fp32 sums: see gemm_simt.cuh.
#include "gemm_simt.cuh"

RIDGE_GEMM_SIMT(gemm_bf16_simt, ridge_bf16, ridge_bf16, ridge_bf16)
