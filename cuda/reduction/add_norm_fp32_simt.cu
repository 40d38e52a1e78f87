// add_layer_norm and add_rms_norm at fp32: see norm.cuh.
#include "norm.cuh"

RIDGE_ADD_NORM(add_norm_fp32_simt, float)
