// conv2d, nhwc, at bf16 with fp32 sums on Hopper's tensor cores, y leaving by TMA: see conv_boxes.cuh.
#include "conv_boxes.cuh"

RIDGE_CONV_TMA(conv2d_bf16_sm90_boxes, RIDGE_BOXES, HopperBf16, ridge_bf16, 256)
RIDGE_CONV_TMA(conv2d_bf16_sm90_boxes_narrow, RIDGE_BOXES, HopperBf16, ridge_bf16, 128)
RIDGE_CONV_TMA(conv2d_bf16_sm90_boxes_slim, RIDGE_BOXES, HopperBf16, ridge_bf16, 64)
