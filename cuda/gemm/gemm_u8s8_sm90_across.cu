// gemm of unsigned times signed bytes with int32 sums with B stored [K,N] on Hopper's tensor cores: B is transposed here, then gemm_u8s8_sm90.cu multiplies. See across.cuh.
#include "across.cuh"

RIDGE_ACROSS(gemm_u8s8_sm90_across, uint8_t)
