// layer_norm and rms_norm at fp32: see norm.cuh.
#include "norm.cuh"

RIDGE_NORM(norm_fp32_simt, float)
