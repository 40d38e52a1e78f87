// unary, binary and channel kernels at bf16 on AVX2 + FMA, with plain and non-temporal stores.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 8
#define RIDGE_VEC_ISA RIDGE_VEC_AVX2
#define RIDGE_VEC_DTYPE RIDGE_VEC_BF16
#include "body.inc"

EW_KERNELS(bf16_avx2)
EW_KERNELS_NT(bf16_avx2)
