// softmax and norms at fp32 on NEON.
// Formulas, preconditions, costs and design: norms.inc.
#define RIDGE_VEC_LANES 4
#define RIDGE_VEC_ISA RIDGE_VEC_NEON
#define RIDGE_VEC_DTYPE RIDGE_VEC_FP32
#include "norms.inc"

RD_NORMS(fp32_neon)
