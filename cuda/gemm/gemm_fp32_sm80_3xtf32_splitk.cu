// gemm and linear at fp32 by three products of tf32 each (gemm_fp32_sm80_3xtf32.cu), of few tiles, blocks sharing k: see splitk_mma.cuh. Warps of 64 × 32
// and 32 × 32: the registers of wider ones do not hold both halves of A.
#include "ridge_mma_tf32.cuh"
#include "splitk_mma.cuh"

RIDGE_SPLITK_PARTS(gemm_fp32_sm80_3xtf32_splitk_nn, Product3xTf32, 16, false, 128, 128, 64, 32)
RIDGE_SPLITK_PARTS(gemm_fp32_sm80_3xtf32_splitk_nn_rows64, Product3xTf32, 16, false, 64, 128, 32, 32)
RIDGE_SPLITK_PARTS(gemm_fp32_sm80_3xtf32_splitk_nn_rows32, Product3xTf32, 16, false, 32, 128, 32, 32)
RIDGE_SPLITK_PARTS(gemm_fp32_sm80_3xtf32_splitk_nt, Product3xTf32, 16, true, 128, 128, 64, 32)
RIDGE_SPLITK_PARTS(gemm_fp32_sm80_3xtf32_splitk_nt_rows64, Product3xTf32, 16, true, 64, 128, 32, 32)
RIDGE_SPLITK_PARTS(gemm_fp32_sm80_3xtf32_splitk_nt_rows32, Product3xTf32, 16, true, 32, 128, 32, 32)
RIDGE_SPLITK_FLOATS(gemm_fp32_sm80_3xtf32_splitk_sum, float, float)
