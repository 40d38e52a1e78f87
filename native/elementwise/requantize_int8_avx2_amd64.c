// requantize on AVX2, with plain and non-temporal stores. Formula, preconditions and costs: requantize.h.
#define RIDGE_VEC_LANES 8
#define RIDGE_VEC_ISA RIDGE_VEC_AVX2
#include "requantize.h"

RQ_KERNEL(avx2, 0)
RQ_KERNEL(avx2_nt, 1)
