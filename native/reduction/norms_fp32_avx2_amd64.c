// softmax and norms at fp32 on AVX2 + FMA, with plain and non-temporal stores.
// Formulas, preconditions, costs and design: norms.inc.
#define RIDGE_VEC_LANES 8
#define RIDGE_VEC_ISA RIDGE_VEC_AVX2
#define RIDGE_VEC_DTYPE RIDGE_VEC_FP32
#include "norms.inc"

RD_NORMS(fp32_avx2)
RD_NORMS_NT(fp32_avx2)
