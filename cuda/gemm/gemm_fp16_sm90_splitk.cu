// gemm at fp16 with fp32 sums of few tiles on Hopper's tensor cores, blocks sharing k: see splitk_wgmma.cuh.
#include "splitk_wgmma.cuh"

RIDGE_WGMMA_PARTS(gemm_fp16_sm90_splitk_nn, HopperFp16, false)
RIDGE_WGMMA_PARTS(gemm_fp16_sm90_splitk_nt, HopperFp16, true)
RIDGE_SPLITK_FLOATS(gemm_fp16_sm90_splitk_sum, float, ridge_fp16)
