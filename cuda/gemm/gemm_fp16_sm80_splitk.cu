// gemm at fp16 with fp32 sums of few tiles on tensor cores, blocks sharing k: see splitk_mma.cuh.
#include "splitk_mma.cuh"

RIDGE_SPLITK_PARTS(gemm_fp16_sm80_splitk_nn, ProductFp16, 16, false, 128, 128, 64, 64)
RIDGE_SPLITK_PARTS(gemm_fp16_sm80_splitk_nn_rows64, ProductFp16, 16, false, 64, 128, 32, 64)
RIDGE_SPLITK_PARTS(gemm_fp16_sm80_splitk_nn_rows32, ProductFp16, 16, false, 32, 128, 32, 32)
RIDGE_SPLITK_PARTS(gemm_fp16_sm80_splitk_nt, ProductFp16, 16, true, 128, 128, 64, 64)
RIDGE_SPLITK_PARTS(gemm_fp16_sm80_splitk_nt_rows64, ProductFp16, 16, true, 64, 128, 32, 64)
RIDGE_SPLITK_PARTS(gemm_fp16_sm80_splitk_nt_rows32, ProductFp16, 16, true, 32, 128, 32, 32)
RIDGE_SPLITK_FLOATS(gemm_fp16_sm80_splitk_sum, float, ridge_fp16)
