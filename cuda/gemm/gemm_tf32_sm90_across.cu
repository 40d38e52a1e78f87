// gemm of tf32 with B stored [K,N] on Hopper's tensor cores: B is transposed here, then gemm_tf32_sm90.cu multiplies. See across.cuh.
#include "across.cuh"

RIDGE_ACROSS(gemm_tf32_sm90_across, float)
