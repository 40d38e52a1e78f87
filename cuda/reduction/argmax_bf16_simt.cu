// argmax at bf16: see argmax.cuh.
#include "argmax.cuh"

RIDGE_ARGMAX(argmax_bf16_simt, ridge_bf16)
