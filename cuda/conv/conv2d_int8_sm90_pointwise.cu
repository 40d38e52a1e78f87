// conv2d, nhwc, of one tap, of signed bytes with int32 sums on Hopper's tensor cores: see conv_pointwise.cuh.
#include "conv_pointwise.cuh"

RIDGE_POINTWISE_BYTES(conv2d_int8_sm90_pointwise_narrow, HopperBytes, 128)
RIDGE_POINTWISE_BYTES(conv2d_int8_sm90_pointwise_slim, HopperBytes, 64)
RIDGE_POINTWISE_REQUANT(conv2d_int8_sm90_pointwise_requant, HopperBytes, 256)
RIDGE_POINTWISE_REQUANT(conv2d_int8_sm90_pointwise_requant_narrow, HopperBytes, 128)
