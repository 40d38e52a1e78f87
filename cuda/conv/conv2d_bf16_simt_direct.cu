// conv2d of small groups at bf16 with fp32 sums: see conv_direct.cuh.
#include "conv_direct.cuh"

RIDGE_CONV_DIRECT(conv2d_bf16_simt_direct_nhwc, ridge_bf16, true)
RIDGE_CONV_DIRECT(conv2d_bf16_simt_direct_nchw, ridge_bf16, false)
