// conv2d, nhwc, of signed bytes with int32 sums on Hopper's tensor cores, y leaving by TMA: see conv_boxes.cuh.
#include "conv_boxes.cuh"

RIDGE_CONV_TMA_BYTES(conv2d_int8_sm90_boxes_narrow, RIDGE_BOXES, HopperBytes, 128)
RIDGE_CONV_TMA_BYTES(conv2d_int8_sm90_boxes_slim, RIDGE_BOXES, HopperBytes, 64)
RIDGE_CONV_TMA_REQUANT(conv2d_int8_sm90_boxes_requant, RIDGE_BOXES, HopperBytes, 256)
RIDGE_CONV_TMA_REQUANT(conv2d_int8_sm90_boxes_requant_narrow, RIDGE_BOXES, HopperBytes, 128)
