// softmax at bf16 along rows and columns: see softmax.cuh.
#include "softmax.cuh"

RIDGE_SOFTMAX(softmax_bf16_simt, ridge_bf16)
