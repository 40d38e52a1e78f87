// bias_add and batch_norm at fp32: see elementwise.cuh.
#include "elementwise.cuh"

RIDGE_CHANNEL(channel_fp32_simt, float)
