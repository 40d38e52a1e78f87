// gemm and linear of signed bytes with int32 sums, B along k alone, of few tiles on Hopper's tensor cores, blocks sharing k: see splitk_wgmma.cuh.
#include "splitk_wgmma.cuh"

RIDGE_WGMMA_PARTS(gemm_int8_sm90_splitk_nt, HopperBytes, true)
RIDGE_SPLITK_BYTES(gemm_int8_sm90_splitk_sum)
