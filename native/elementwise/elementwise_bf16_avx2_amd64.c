// unary, binary and channel kernels at bf16 on AVX2 + FMA, with plain and non-temporal stores.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 8
#define RIDGE_VEC_ISA 1
#define EW_BF16 1
#include "body.inc"

EW_KERNELS(bf16_avx2)
EW_KERNELS_NT(bf16_avx2)
