// argmax at fp64: see argmax.cuh.
#include "argmax.cuh"

RIDGE_ARGMAX(argmax_fp64_simt, double)
