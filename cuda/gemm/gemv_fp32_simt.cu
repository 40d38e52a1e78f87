// gemv at fp32: see gemv_simt.cuh.
#include "gemv_simt.cuh"

RIDGE_GEMV(gemv_fp32_simt, float)
