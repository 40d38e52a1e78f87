// conv2d, nhwc, of one tap, of signed bytes with int32 sums on Hopper's tensor cores: see conv_pointwise.cuh.
#include "conv_pointwise.cuh"

RIDGE_CONV_TMA_BYTES(conv2d_int8_sm90_pointwise_narrow, RIDGE_ROWS, HopperBytes, 128)
RIDGE_CONV_TMA_BYTES(conv2d_int8_sm90_pointwise_slim, RIDGE_ROWS, HopperBytes, 64)
RIDGE_CONV_TMA_REQUANT(conv2d_int8_sm90_pointwise_requant, RIDGE_ROWS, HopperBytes, 256)
RIDGE_CONV_TMA_REQUANT(conv2d_int8_sm90_pointwise_requant_narrow, RIDGE_ROWS, HopperBytes, 128)
