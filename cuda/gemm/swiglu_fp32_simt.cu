// swiglu at fp32: see swiglu_simt.cuh.
#include "swiglu_simt.cuh"

RIDGE_SWIGLU(swiglu_fp32_simt, float)
