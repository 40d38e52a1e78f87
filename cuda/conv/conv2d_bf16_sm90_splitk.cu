// conv2d, nhwc, at bf16 with fp32 sums on Hopper's tensor cores, the window shared by the blocks of a cluster: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA(conv2d_bf16_sm90_splitk_nhwc_4, HopperBf16, ridge_bf16, 256, 4)
RIDGE_CONV_WGMMA(conv2d_bf16_sm90_splitk_nhwc_slim_4, HopperBf16, ridge_bf16, 64, 4)
RIDGE_CONV_WGMMA(conv2d_bf16_sm90_splitk_nhwc_slim_8, HopperBf16, ridge_bf16, 64, 8)
