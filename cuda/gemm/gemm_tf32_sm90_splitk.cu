// gemm and linear at tf32 with fp32 sums, B along k alone, of few tiles on Hopper's tensor cores, blocks sharing k: see splitk_wgmma.cuh.
#include "splitk_wgmma.cuh"

RIDGE_WGMMA_PARTS(gemm_tf32_sm90_splitk_nt, HopperTf32, true)
RIDGE_SPLITK_FLOATS(gemm_tf32_sm90_splitk_sum, float, float)
