// transpose and layout at int8: see transpose.cuh.
#include "transpose.cuh"

RIDGE_TRANSPOSE(transpose_int8_simt, int8_t)
