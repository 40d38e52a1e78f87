// The 16-lane kernels at bf16 without an instruction set: proves the AVX-512 variant's logic anywhere.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA 0
#define EW_BF16 1
#include "body.inc"

EW_KERNELS(bf16_avx512_model)
