// gemm at fp16 with fp32 sums on Hopper's tensor cores: see gemm_wgmma.cuh.
#include "gemm_wgmma.cuh"

RIDGE_WGMMA_FLOATS(gemm_fp16_sm90_nn, HopperFp16, ridge_fp16, false, 256, 1)
RIDGE_WGMMA_FLOATS(gemm_fp16_sm90_nn_cluster, HopperFp16, ridge_fp16, false, 256, 2)
RIDGE_WGMMA_FLOATS(gemm_fp16_sm90_nt, HopperFp16, ridge_fp16, true, 256, 1)
RIDGE_WGMMA_FLOATS(gemm_fp16_sm90_nt_cluster, HopperFp16, ridge_fp16, true, 256, 2)
RIDGE_WGMMA_FLOATS(gemm_fp16_sm90_nn_narrow, HopperFp16, ridge_fp16, false, 128, 1)
RIDGE_WGMMA_FLOATS(gemm_fp16_sm90_nt_narrow, HopperFp16, ridge_fp16, true, 128, 1)
RIDGE_WGMMA_FLOATS(gemm_fp16_sm90_nn_slim, HopperFp16, ridge_fp16, false, 64, 1)
RIDGE_WGMMA_FLOATS(gemm_fp16_sm90_nt_slim, HopperFp16, ridge_fp16, true, 64, 1)
