// softmax at bf16 along rows and columns: see norm.cuh.
#include "norm.cuh"

RIDGE_SOFTMAX(softmax_bf16_simt, ridge_bf16)
