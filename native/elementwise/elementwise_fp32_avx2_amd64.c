// unary, binary and channel kernels at fp32 on AVX2 + FMA, with plain and non-temporal stores.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 8
#define RIDGE_VEC_ISA RIDGE_VEC_AVX2
#define RIDGE_VEC_DTYPE RIDGE_VEC_FP32
#include "body.inc"

EW_KERNELS(fp32_avx2)
EW_KERNELS_NT(fp32_avx2)
