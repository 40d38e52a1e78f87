// conv2d of small groups at fp32 with fp32 sums: see conv_direct.cuh.
#include "conv_direct.cuh"

RIDGE_CONV_DIRECT(conv2d_fp32_simt_direct_nhwc, float, true)
RIDGE_CONV_DIRECT(conv2d_fp32_simt_direct_nchw, float, false)
