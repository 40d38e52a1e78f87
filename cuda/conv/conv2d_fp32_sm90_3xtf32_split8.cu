// conv2d, nhwc, at fp32 as three products of tf32 on Hopper's tensor cores, the window in 8 parts: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA(conv2d_fp32_sm90_3xtf32_split8_nhwc, Hopper3xTf32, float, 128, 1, 8)
