// gemm of signed bytes with int32 sums with B stored [K,N] on Hopper's tensor cores: B is transposed here, then gemm_int8_sm90.cu multiplies. See across.cuh.
#include "across.cuh"

RIDGE_ACROSS(gemm_int8_sm90_across, uint8_t)
