// unary, binary and channel kernels at bf16 on AVX-512, with plain and non-temporal stores.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA 2
#define EW_BF16 1
#include "body.inc"

EW_KERNELS(bf16_avx512)
EW_KERNELS_NT(bf16_avx512)
