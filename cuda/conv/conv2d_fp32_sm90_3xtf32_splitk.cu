// conv2d, nhwc, at fp32 as three products of tf32 on Hopper's tensor cores, the window shared by the blocks of a cluster: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA(conv2d_fp32_sm90_3xtf32_splitk_nhwc_4, Hopper3xTf32, float, 128, 4)
RIDGE_CONV_WGMMA(conv2d_fp32_sm90_3xtf32_splitk_nhwc_8, Hopper3xTf32, float, 128, 8)
