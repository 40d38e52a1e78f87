// swiglu at bf16 with fp32 sums: see swiglu_simt.cuh.
#include "swiglu_simt.cuh"

RIDGE_SWIGLU(swiglu_bf16_simt, ridge_bf16)
