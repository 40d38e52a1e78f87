// transpose and layout at fp32: see transpose.cuh.
#include "transpose.cuh"

RIDGE_TRANSPOSE(transpose_fp32_simt, float)
RIDGE_TRANSPOSE_PACKS(transpose_fp32_simt_packs, float)
