// conv2d, nhwc, at bf16 with fp32 sums on tensor cores: see conv_mma.cuh.
#include "conv_mma.cuh"

RIDGE_CONV_MMA(conv2d_bf16_sm80_nhwc, ProductBf16, ridge_bf16, 128, 128, 64, 64)
RIDGE_CONV_MMA(conv2d_bf16_sm80_nhwc_slim, ProductBf16, ridge_bf16, 128, 64, 64, 32)
