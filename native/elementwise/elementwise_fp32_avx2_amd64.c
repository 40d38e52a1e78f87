// unary, binary and channel kernels at fp32 on AVX2 + FMA, with plain and non-temporal stores.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 8
#define RIDGE_VEC_ISA 1
#define EW_BF16 0
#include "body.inc"

EW_KERNELS(fp32_avx2)
EW_KERNELS_NT(fp32_avx2)
