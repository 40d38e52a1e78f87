// gemv at fp64: see gemv_simt.cuh.
#include "gemv_simt.cuh"

RIDGE_GEMV(gemv_fp64_simt, double)
