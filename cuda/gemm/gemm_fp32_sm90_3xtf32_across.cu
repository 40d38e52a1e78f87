// gemm of fp32 by three products of tf32 each with B stored [K,N] on Hopper's tensor cores: B is transposed here, then gemm_fp32_sm90_3xtf32.cu multiplies. See across.cuh.
#include "across.cuh"

RIDGE_ACROSS(gemm_fp32_sm90_3xtf32_across, float)
