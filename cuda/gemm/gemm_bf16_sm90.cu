// gemm and linear at bf16 with fp32 sums on Hopper's tensor cores: see gemm_wgmma.cuh.
#include "gemm_wgmma.cuh"

RIDGE_WGMMA_FLOATS(gemm_bf16_sm90_nn, HopperBf16, ridge_bf16, false, 256, 1)
RIDGE_WGMMA_FLOATS(gemm_bf16_sm90_nn_cluster, HopperBf16, ridge_bf16, false, 256, 2)
RIDGE_WGMMA_FLOATS(gemm_bf16_sm90_nt, HopperBf16, ridge_bf16, true, 256, 1)
RIDGE_WGMMA_FLOATS(gemm_bf16_sm90_nt_cluster, HopperBf16, ridge_bf16, true, 256, 2)
RIDGE_WGMMA_FLOATS(gemm_bf16_sm90_nn_narrow, HopperBf16, ridge_bf16, false, 128, 1)
RIDGE_WGMMA_FLOATS(gemm_bf16_sm90_nt_narrow, HopperBf16, ridge_bf16, true, 128, 1)
RIDGE_WGMMA_FLOATS(gemm_bf16_sm90_nn_slim, HopperBf16, ridge_bf16, false, 64, 1)
RIDGE_WGMMA_FLOATS(gemm_bf16_sm90_nt_slim, HopperBf16, ridge_bf16, true, 64, 1)
