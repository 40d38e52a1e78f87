// conv2d at bf16 with fp32 sums: see conv_simt.cuh.
#include "conv_simt.cuh"

RIDGE_CONV_LAYOUT(conv2d_bf16_simt_nhwc, ridge_bf16, true)
RIDGE_CONV_LAYOUT(conv2d_bf16_simt_nchw, ridge_bf16, false)
