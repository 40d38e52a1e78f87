// conv2d, nhwc, of one tap, at bf16 with fp32 sums on Hopper's tensor cores: see conv_pointwise.cuh.
#include "conv_pointwise.cuh"

RIDGE_POINTWISE(conv2d_bf16_sm90_pointwise, HopperBf16, ridge_bf16, 256)
RIDGE_POINTWISE(conv2d_bf16_sm90_pointwise_narrow, HopperBf16, ridge_bf16, 128)
RIDGE_POINTWISE(conv2d_bf16_sm90_pointwise_slim, HopperBf16, ridge_bf16, 64)
