// conv2d, nhwc, at fp32 as three products of tf32 each on tensor cores, with fp32's error: see conv_mma.cuh and ridge_mma_tf32.cuh.
// Measured on an H200, 32 images: 64 channels 3x3 56² 169 us (…_sm90_3xtf32: 154), 256 3x3 14² 202 (100), 1x1 256>64 56² 93 (80).
#include "conv_mma.cuh"
#include "ridge_mma_tf32.cuh"

RIDGE_CONV_MMA(conv2d_fp32_sm80_3xtf32_nhwc, Product3xTf32, float, 128, 128, 64, 32)
RIDGE_CONV_MMA(conv2d_fp32_sm80_3xtf32_nhwc_slim, Product3xTf32, float, 128, 64, 64, 32)
