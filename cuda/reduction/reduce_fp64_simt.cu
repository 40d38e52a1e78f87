// sum, mean, max and min at fp64: see reduce.cuh.
#include "reduce.cuh"

RIDGE_REDUCE_ALL(reduce_fp64_simt, double)
