// gemm at fp64: see gemm_simt.cuh.
#include "gemm_simt.cuh"

RIDGE_GEMM_SIMT(gemm_fp64_simt, double, double, double)
