// gemm and linear at bf16 with fp32 sums of few tiles on Hopper's tensor cores, blocks sharing k: see splitk_wgmma.cuh.
#include "splitk_wgmma.cuh"

RIDGE_WGMMA_PARTS(gemm_bf16_sm90_splitk_nn, HopperBf16, false)
RIDGE_WGMMA_PARTS(gemm_bf16_sm90_splitk_nt, HopperBf16, true)
RIDGE_SPLITK_FLOATS(gemm_bf16_sm90_splitk_sum, float, ridge_bf16)
