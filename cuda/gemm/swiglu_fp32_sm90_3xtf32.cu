// swiglu at fp32 by three products of tf32 each, with fp32's error, on Hopper's tensor cores: see swiglu_wgmma_tile.cuh, and ridge_wgmma_3xtf32.cuh for the loop.
#include "ridge_wgmma_3xtf32.cuh"
#include "swiglu_wgmma_tile.cuh"

RIDGE_SWIGLU_WGMMA(swiglu_fp32_sm90_3xtf32, Hopper3xTf32, float, 128)
