// gemm and linear at bf16 as gemm_bf16_sm90.cu has them, but C leaves by TMA: see gemm_wgmma.cuh. C's rows begin at multiples of 16 bytes.
#include "gemm_wgmma.cuh"

RIDGE_WGMMA_FLOATS_TMA(gemm_bf16_sm90_tma_nn, HopperBf16, ridge_bf16, false, 256, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_bf16_sm90_tma_nn_cluster, HopperBf16, ridge_bf16, false, 256, 2)
RIDGE_WGMMA_FLOATS_TMA(gemm_bf16_sm90_tma_nn_narrow, HopperBf16, ridge_bf16, false, 128, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_bf16_sm90_tma_nt, HopperBf16, ridge_bf16, true, 256, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_bf16_sm90_tma_nt_cluster, HopperBf16, ridge_bf16, true, 256, 2)
RIDGE_WGMMA_FLOATS_TMA(gemm_bf16_sm90_tma_nt_narrow, HopperBf16, ridge_bf16, true, 128, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_bf16_sm90_tma_nn_slim, HopperBf16, ridge_bf16, false, 64, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_bf16_sm90_tma_nt_slim, HopperBf16, ridge_bf16, true, 64, 1)
