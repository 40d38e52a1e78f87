// conv2d, nhwc, at fp32 as three products of tf32 on Hopper's tensor cores, y leaving by TMA: see conv_boxes.cuh.
#include "conv_boxes.cuh"

RIDGE_CONV_TMA(conv2d_fp32_sm90_3xtf32_boxes, RIDGE_BOXES, Hopper3xTf32, float, 128)
