// gemm and linear at fp32 by three products of tf32 of few tiles on Hopper's tensor cores, blocks sharing k, B along k alone: ridge_wgmma_3xtf32.cuh and splitk_wgmma.cuh. A
// stage takes 1536 cycles, so that the tensor cores bind: predicted half of the memory's roof at M ≤ 128. not yet measured.
#include "ridge_wgmma_3xtf32.cuh"
#include "splitk_wgmma.cuh"

RIDGE_WGMMA_PARTS(gemm_fp32_sm90_3xtf32_splitk_nt, Hopper3xTf32, true)
RIDGE_SPLITK_FLOATS(gemm_fp32_sm90_3xtf32_splitk_sum, float, float)
