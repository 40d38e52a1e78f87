// conv2d, nhwc, at fp32 as three products of tf32 on Hopper's tensor cores: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA(conv2d_fp32_sm90_3xtf32_nhwc, Hopper3xTf32, float, 128, 1)
