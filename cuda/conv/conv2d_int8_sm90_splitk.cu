// conv2d, nhwc, of signed bytes with int32 sums on Hopper's tensor cores, the window shared by the blocks of a cluster: see conv_wgmma.cuh.
#include "conv_wgmma.cuh"

RIDGE_CONV_WGMMA_BYTES(conv2d_int8_sm90_splitk_nhwc_4, HopperBytes, 256, 4)
RIDGE_CONV_WGMMA_BYTES(conv2d_int8_sm90_splitk_nhwc_narrow_4, HopperBytes, 128, 4)
RIDGE_CONV_WGMMA_BYTES(conv2d_int8_sm90_splitk_nhwc_narrow_8, HopperBytes, 128, 8)
RIDGE_CONV_WGMMA_REQUANT(conv2d_int8_sm90_splitk_nhwc_requant_4, HopperBytes, 256, 4)
RIDGE_CONV_WGMMA_REQUANT(conv2d_int8_sm90_splitk_nhwc_requant_narrow_4, HopperBytes, 128, 4)
RIDGE_CONV_WGMMA_REQUANT(conv2d_int8_sm90_splitk_nhwc_requant_narrow_8, HopperBytes, 128, 8)
