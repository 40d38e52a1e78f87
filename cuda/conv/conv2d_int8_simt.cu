// conv2d at int8 by dp4a: see conv_simt.cuh.
#include "conv_simt.cuh"

RIDGE_CONV_BYTES(conv2d_int8_simt_nhwc, true)
RIDGE_CONV_BYTES(conv2d_int8_simt_nchw, false)
