// gemm of fp8_e4m3 with B stored [K,N] on Hopper's tensor cores: B is transposed here, then gemm_fp8_e4m3_sm90.cu multiplies. See across.cuh.
#include "across.cuh"

RIDGE_ACROSS(gemm_fp8_e4m3_sm90_across, uint8_t)
