// conv2d, nhwc, of signed bytes with int32 sums on Hopper's tensor cores: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA_BYTES(conv2d_int8_sm90_nhwc, HopperBytes, 256, 1)
RIDGE_CONV_WGMMA_BYTES(conv2d_int8_sm90_nhwc_narrow, HopperBytes, 128, 1)
RIDGE_CONV_WGMMA_REQUANT(conv2d_int8_sm90_nhwc_requant, HopperBytes, 256, 1)
RIDGE_CONV_WGMMA_REQUANT(conv2d_int8_sm90_nhwc_requant_narrow, HopperBytes, 128, 1)
