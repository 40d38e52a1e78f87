// softmax at fp32 along rows and columns: see softmax.cuh.
#include "softmax.cuh"

RIDGE_SOFTMAX(softmax_fp32_simt, float)
