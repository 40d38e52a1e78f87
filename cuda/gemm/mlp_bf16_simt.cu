// mlp at bf16, Y = act(X·W1ᵀ + b1)·W2ᵀ + b2, as two products: the hidden features lie in the workspace as fp32, so that they
// are not rounded. See gemm_simt.cuh.
#include "gemm_simt.cuh"

RIDGE_GEMM_SIMT(mlp_bf16_simt_hidden, ridge_bf16, ridge_bf16, float)
RIDGE_GEMM_SIMT(mlp_bf16_simt_out, float, ridge_bf16, ridge_bf16)
