// gemm at fp16 with fp32 sums: see gemm_simt.cuh.
#include "gemm_simt.cuh"

RIDGE_GEMM_SIMT(gemm_fp16_simt, ridge_fp16, ridge_fp16, ridge_fp16)
