// mlp at fp32, Y = act(X·W1ᵀ + b1)·W2ᵀ + b2, as two products: the hidden features lie in the workspace. See gemm_simt.cuh.
#include "gemm_simt.cuh"

RIDGE_GEMM_SIMT(mlp_fp32_simt_hidden, float, float, float)
RIDGE_GEMM_SIMT(mlp_fp32_simt_out, float, float, float)
