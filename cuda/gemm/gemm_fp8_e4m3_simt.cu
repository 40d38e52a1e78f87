// gemm and linear of fp8_e4m3 with fp32 sums, C in bf16: see gemm_simt.cuh.
#include "gemm_simt.cuh"
#include "ridge_narrow.cuh"

RIDGE_GEMM_SIMT_WITH(gemm_fp8_e4m3_simt, ridge_e4m3, ridge_e4m3, ridge_bf16, ridge_bf16)
