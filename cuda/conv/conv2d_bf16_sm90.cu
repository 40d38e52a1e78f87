// conv2d, nhwc, at bf16 with fp32 sums on Hopper's tensor cores: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA(conv2d_bf16_sm90_nhwc, HopperBf16, ridge_bf16, 256, 1)
RIDGE_CONV_WGMMA(conv2d_bf16_sm90_nhwc_narrow, HopperBf16, ridge_bf16, 128, 1)
RIDGE_CONV_WGMMA(conv2d_bf16_sm90_nhwc_slim, HopperBf16, ridge_bf16, 64, 1)
