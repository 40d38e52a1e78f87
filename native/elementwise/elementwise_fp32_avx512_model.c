// The 16-lane kernels at fp32 without an instruction set: proves the AVX-512 variant's logic anywhere.
// Formulas, preconditions and costs: body.inc.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA RIDGE_VEC_PORTABLE
#define RIDGE_VEC_DTYPE RIDGE_VEC_FP32
#include "body.inc"

EW_KERNELS(fp32_avx512_model)
