// swiglu at bf16 with fp32 sums on Hopper's tensor cores: see swiglu_wgmma_tile.cuh.
#include "swiglu_wgmma_tile.cuh"

RIDGE_SWIGLU_WGMMA(swiglu_bf16_sm90, HopperBf16, ridge_bf16, 256)
RIDGE_SWIGLU_WGMMA(swiglu_bf16_sm90_narrow, HopperBf16, ridge_bf16, 128)
