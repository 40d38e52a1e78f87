// sum, mean, max, min at bf16 with AVX-512's lanes and no instruction set: proves that variant's logic anywhere.
// Formulas, preconditions, costs and design: reduce.inc.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA RIDGE_VEC_PORTABLE
#define RIDGE_VEC_DTYPE RIDGE_VEC_BF16
#include "reduce.inc"

RD_REDUCE(bf16_avx512_model)
