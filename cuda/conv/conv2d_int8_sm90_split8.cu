// conv2d, nhwc, of signed bytes with int32 sums on Hopper's tensor cores, the window in 8 parts: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA_BYTES(conv2d_int8_sm90_split8_nhwc_narrow, HopperBytes, 128, 1, 8)
RIDGE_CONV_WGMMA_REQUANT(conv2d_int8_sm90_split8_nhwc_requant_narrow, HopperBytes, 128, 1, 8)
