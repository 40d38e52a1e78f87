// conv2d, nhwc, of one tap, at fp32 as three products of tf32 on Hopper's tensor cores: see conv_pointwise.cuh.
#include "conv_pointwise.cuh"

RIDGE_CONV_TMA(conv2d_fp32_sm90_3xtf32_pointwise, RIDGE_ROWS, Hopper3xTf32, float, 128)
