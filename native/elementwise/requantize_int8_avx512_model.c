// The 16-lane requantize without an instruction set: proves the AVX-512 variant's logic anywhere.
// Formula, preconditions and costs: requantize.h.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA RIDGE_VEC_PORTABLE
#include "requantize.h"

RQ_KERNEL(avx512_model, 0)
