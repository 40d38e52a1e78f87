// argmax at fp32: see argmax.cuh.
#include "argmax.cuh"

RIDGE_ARGMAX(argmax_fp32_simt, float)
