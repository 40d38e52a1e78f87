// layer_norm and rms_norm at bf16: see norm.cuh.
#include "norm.cuh"

RIDGE_NORM(norm_bf16_simt, ridge_bf16)
