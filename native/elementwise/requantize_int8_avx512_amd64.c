// requantize on AVX-512, with plain and non-temporal stores. Formula, preconditions and costs: requantize.h.
#define RIDGE_VEC_LANES 16
#define RIDGE_VEC_ISA RIDGE_VEC_AVX512
#include "requantize.h"

RQ_KERNEL(avx512, 0)
RQ_KERNEL(avx512_nt, 1)
