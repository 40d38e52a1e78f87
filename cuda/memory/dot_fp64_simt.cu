// dot at fp64: see dot.cuh.
#include "dot.cuh"

RIDGE_DOT(dot_fp64_simt, double)
