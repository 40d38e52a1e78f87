// conv2d, nhwc, at bf16 with fp32 sums on Hopper's tensor cores, the window in 8 parts: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA(conv2d_bf16_sm90_split8_nhwc_narrow, HopperBf16, ridge_bf16, 128, 1, 8)
RIDGE_CONV_WGMMA(conv2d_bf16_sm90_split8_nhwc_slim, HopperBf16, ridge_bf16, 64, 1, 8)
