// gemm at fp16 as gemm_fp16_sm90.cu has them, but C leaves by TMA: see gemm_wgmma.cuh. C's rows begin at multiples of 16 bytes.
#include "gemm_wgmma.cuh"

RIDGE_WGMMA_FLOATS_TMA(gemm_fp16_sm90_tma_nn, HopperFp16, ridge_fp16, false, 256, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_fp16_sm90_tma_nn_cluster, HopperFp16, ridge_fp16, false, 256, 2)
RIDGE_WGMMA_FLOATS_TMA(gemm_fp16_sm90_tma_nn_narrow, HopperFp16, ridge_fp16, false, 128, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_fp16_sm90_tma_nt, HopperFp16, ridge_fp16, true, 256, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_fp16_sm90_tma_nt_cluster, HopperFp16, ridge_fp16, true, 256, 2)
RIDGE_WGMMA_FLOATS_TMA(gemm_fp16_sm90_tma_nt_narrow, HopperFp16, ridge_fp16, true, 128, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_fp16_sm90_tma_nn_slim, HopperFp16, ridge_fp16, false, 64, 1)
RIDGE_WGMMA_FLOATS_TMA(gemm_fp16_sm90_tma_nt_slim, HopperFp16, ridge_fp16, true, 64, 1)
