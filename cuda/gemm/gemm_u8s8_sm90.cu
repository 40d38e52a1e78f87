// gemm of unsigned by signed bytes with int32 sums on Hopper's tensor cores, B along k: see gemm_wgmma.cuh.
#include "gemm_wgmma.cuh"

RIDGE_WGMMA_BYTES(gemm_u8s8_sm90_nt, HopperUnsignedBytes, 256, 1)
RIDGE_WGMMA_BYTES(gemm_u8s8_sm90_nt_cluster, HopperUnsignedBytes, 256, 2)
RIDGE_WGMMA_BYTES(gemm_u8s8_sm90_nt_narrow, HopperUnsignedBytes, 128, 1)
