// conv2d, nhwc, of one tap, at bf16 with fp32 sums on Hopper's tensor cores: see conv_pointwise.cuh.
#include "conv_pointwise.cuh"

RIDGE_CONV_TMA(conv2d_bf16_sm90_pointwise, RIDGE_ROWS, HopperBf16, ridge_bf16, 256)
RIDGE_CONV_TMA(conv2d_bf16_sm90_pointwise_narrow, RIDGE_ROWS, HopperBf16, ridge_bf16, 128)
RIDGE_CONV_TMA(conv2d_bf16_sm90_pointwise_slim, RIDGE_ROWS, HopperBf16, ridge_bf16, 64)
