// bias_add and batch_norm at bf16: see elementwise.cuh.
#include "elementwise.cuh"

RIDGE_CHANNEL(channel_bf16_simt, ridge_bf16)
