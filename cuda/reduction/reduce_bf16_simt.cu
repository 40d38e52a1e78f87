// sum, mean, max and min at bf16: see reduce.cuh.
#include "reduce.cuh"

RIDGE_REDUCE_ALL(reduce_bf16_simt, ridge_bf16)
