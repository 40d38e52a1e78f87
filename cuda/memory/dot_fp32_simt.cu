// dot at fp32: see dot.cuh.
#include "dot.cuh"

RIDGE_DOT(dot_fp32_simt, float)
