// unary, binary and channel kernels at fp32 on AVX-512, with plain and non-temporal stores.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA 2
#define EW_BF16 0
#include "body.inc"

EW_KERNELS(fp32_avx512)
EW_KERNELS_NT(fp32_avx512)
