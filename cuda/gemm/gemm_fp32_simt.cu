// gemm and linear at fp32 with fp32 sums: see gemm_simt_whole.cuh for rows at multiples of 16 bytes, gemm_simt.cuh for the others.
// ptxas allows gemm_fp32_simt_nt sm_120: 8 bytes, outside of the loop
#include "gemm_simt.cuh"
#include "gemm_simt_whole.cuh"

RIDGE_GEMM_SIMT(gemm_fp32_simt, float, float, float)
RIDGE_GEMM_SIMT_WHOLE(gemm_fp32_simt_nn, 128, 64, 8, 8, 3, false)
RIDGE_GEMM_SIMT_WHOLE(gemm_fp32_simt_nt, 128, 64, 8, 8, 3, true)
