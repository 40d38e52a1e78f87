// conv2d, nhwc, at fp32 as three products of tf32 on Hopper's tensor cores, the window in 2 parts: see conv_wgmma.cuh.
// ptxas allows conv2d_fp32_sm90_3xtf32_split2_nhwc all: 4 bytes, to be mended
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA(conv2d_fp32_sm90_3xtf32_split2_nhwc, Hopper3xTf32, float, 128, 1, 2)
