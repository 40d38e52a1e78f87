// gemm and linear at tf32 without tensor cores, operands rounded as they are loaded, with fp32 sums: see gemm_simt.cuh.
#include "gemm_simt.cuh"
#include "ridge_narrow.cuh"

RIDGE_GEMM_SIMT_WITH(gemm_tf32_simt, ridge_tf32, ridge_tf32, float, float)
