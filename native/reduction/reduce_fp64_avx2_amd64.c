// sum, mean, max, min at fp64 on AVX2.
// Formulas, preconditions, costs and design: reduce.inc.
#define RIDGE_VEC_LANES 8
#define RIDGE_VEC_ISA RIDGE_VEC_AVX2
#define RIDGE_VEC_DTYPE RIDGE_VEC_FP64
#include "reduce.inc"

RD_REDUCE(fp64_avx2)
