// conv2d at fp32 with fp32 sums: see conv_simt.cuh.
#include "conv_simt.cuh"

RIDGE_CONV_LAYOUT(conv2d_fp32_simt_nhwc, float, true)
RIDGE_CONV_LAYOUT(conv2d_fp32_simt_nchw, float, false)
