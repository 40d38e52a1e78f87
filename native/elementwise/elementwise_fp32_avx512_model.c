// The 16-lane kernels at fp32 without an instruction set: proves the AVX-512 variant's logic anywhere.
// Formulas, preconditions and costs: body.inc.
#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA 0
#define EW_BF16 0
#include "body.inc"

EW_KERNELS(fp32_avx512_model)
