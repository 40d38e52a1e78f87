// softmax and norms at bf16 on AVX-512, with plain and non-temporal stores.
// Formulas, preconditions, costs and design: norms.inc.
#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA RIDGE_VEC_AVX512
#define RIDGE_VEC_DTYPE RIDGE_VEC_BF16
#include "norms.inc"

RD_NORMS(bf16_avx512)
RD_NORMS_NT(bf16_avx512)
