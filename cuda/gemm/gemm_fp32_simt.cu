// gemm and linear at fp32 with fp32 sums: see gemm_simt_whole.cuh for rows at multiples of 16 bytes, gemm_simt.cuh for the others.
// ptxas allows gemm_fp32_simt_nt sm_120: 72 bytes of addresses, ten loads a step of 2048 multiply-adds
// ptxas allows gemm_fp32_simt_nt_small sm_120: 8 bytes, outside of the loop
#include "gemm_simt.cuh"
#include "gemm_simt_whole.cuh"

RIDGE_GEMM_SIMT(gemm_fp32_simt, float, float, float)
RIDGE_GEMM_SIMT_WHOLE(gemm_fp32_simt_nn, _ALONE, 128, 256, 8, 16, 3, false)
RIDGE_GEMM_SIMT_WHOLE(gemm_fp32_simt_nt, _ALONE, 128, 256, 8, 16, 3, true)
RIDGE_GEMM_SIMT_WHOLE(gemm_fp32_simt_nn_small, , 128, 64, 8, 8, 3, false)
RIDGE_GEMM_SIMT_WHOLE(gemm_fp32_simt_nt_small, , 128, 64, 8, 8, 3, true)
