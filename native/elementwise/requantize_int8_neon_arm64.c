// requantize on NEON. Formula, preconditions and costs: requantize.h.
#define RIDGE_VEC_LANES 4
#define RIDGE_VEC_ISA RIDGE_VEC_NEON
#include "requantize.h"

RQ_KERNEL(neon, 0)
