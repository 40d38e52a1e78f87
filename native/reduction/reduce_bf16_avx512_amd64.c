// sum, mean, max, min at bf16 on AVX-512.
// Formulas, preconditions, costs and design: reduce.inc.
#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA RIDGE_VEC_AVX512
#define RIDGE_VEC_DTYPE RIDGE_VEC_BF16
#include "reduce.inc"

RD_REDUCE(bf16_avx512)
