// softmax at fp32 along rows and columns: see norm.cuh.
#include "norm.cuh"

RIDGE_SOFTMAX(softmax_fp32_simt, float)
