// conv2d, nhwc, of signed bytes with int32 sums on tensor cores: see conv_mma.cuh.
#include "conv_mma.cuh"

RIDGE_CONV_MMA_BYTES(conv2d_int8_sm80_nhwc, ProductBytes, 128, 128, 64, 64)
RIDGE_CONV_MMA_BYTES(conv2d_int8_sm80_nhwc_slim, ProductBytes, 128, 64, 64, 32)
RIDGE_CONV_MMA_REQUANT(conv2d_int8_sm80_nhwc_requant, ProductBytes, 128, 128, 64, 64)
RIDGE_CONV_MMA_REQUANT(conv2d_int8_sm80_nhwc_requant_slim, ProductBytes, 128, 64, 64, 32)
