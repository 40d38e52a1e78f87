// gemm and linear of fp8_e4m3 with fp32 sums, C in bf16, B along k alone, of few tiles on Hopper's tensor cores, blocks sharing k: see splitk_wgmma.cuh.
#include "splitk_wgmma.cuh"

RIDGE_WGMMA_PARTS(gemm_fp8_e4m3_sm90_splitk_nt, HopperE4m3, true)
RIDGE_SPLITK_FLOATS(gemm_fp8_e4m3_sm90_splitk_sum, float, ridge_bf16)
