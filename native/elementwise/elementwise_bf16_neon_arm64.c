// unary, binary and channel kernels at bf16 on NEON.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 4
#define RIDGE_VEC_ISA 3
#define EW_BF16 1
#include "body.inc"

EW_KERNELS(bf16_neon)
