// unary, binary and channel kernels at fp32 on NEON.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 4
#define RIDGE_VEC_ISA RIDGE_VEC_NEON
#define RIDGE_VEC_DTYPE RIDGE_VEC_FP32
#include "body.inc"

EW_KERNELS(fp32_neon)
