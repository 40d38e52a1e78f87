// conv2d of small groups at int8: see conv_direct.cuh.
#include "conv_direct.cuh"

RIDGE_CONV_DIRECT_BYTES(conv2d_int8_simt_direct_nhwc, true)
RIDGE_CONV_DIRECT_BYTES(conv2d_int8_simt_direct_nchw, false)
