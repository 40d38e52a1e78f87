// add_layer_norm and add_rms_norm at bf16: see norm.cuh.
#include "norm.cuh"

RIDGE_ADD_NORM(add_norm_bf16_simt, ridge_bf16)
