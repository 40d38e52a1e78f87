// gemm and linear of signed bytes with int32 sums on Hopper's tensor cores, B along k: see gemm_wgmma.cuh.
#include "gemm_wgmma.cuh"

RIDGE_WGMMA_BYTES(gemm_int8_sm90_nt, HopperBytes, 256, 1)
RIDGE_WGMMA_BYTES(gemm_int8_sm90_nt_cluster, HopperBytes, 256, 2)
RIDGE_WGMMA_BYTES(gemm_int8_sm90_nt_narrow, HopperBytes, 128, 1)
RIDGE_WGMMA_REQUANT(gemm_int8_sm90_requant_nt, HopperBytes, 256, 1)
RIDGE_WGMMA_REQUANT(gemm_int8_sm90_requant_nt_cluster, HopperBytes, 256, 2)
RIDGE_WGMMA_REQUANT(gemm_int8_sm90_requant_nt_narrow, HopperBytes, 128, 1)
