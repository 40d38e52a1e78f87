// sum, mean, max and min at fp32: see reduce.cuh.
#include "reduce.cuh"

RIDGE_REDUCE_ALL(reduce_fp32_simt, float)
