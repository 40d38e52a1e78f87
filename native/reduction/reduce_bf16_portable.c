// sum, mean, max, min at bf16 in GNU C vectors of 16 bytes: the fallback for unknown chips.
// Formulas, preconditions, costs and design: reduce.inc.
#define RIDGE_VEC_LANES 4
#define RIDGE_VEC_ISA RIDGE_VEC_PORTABLE
#define RIDGE_VEC_DTYPE RIDGE_VEC_BF16
#include "reduce.inc"

RD_REDUCE(bf16_portable)
