// Kernels that fail on purpose. Only tests import this package.
#ifndef RIDGE_FAULT_H
#define RIDGE_FAULT_H
#include "../../native/include/ridge.h"

enum { FAULT_OK, FAULT_SEGV, FAULT_ILL, FAULT_ABORT, FAULT_HANG, FAULT_OOM, FAULT_WRONG, FAULT_SKIP_LAST, FAULT_OVERRUN, FAULT_UNSTABLE, FAULT_STATUS, FAULT_CLOBBER, FAULT_OVERRUN_INPUT };

// y[i] = 2 x[i] over n floats.
typedef struct fault_args {
  int64_t n;
  const float *x;
  float *y;
  int32_t kind;
  int64_t *calls;
} fault_args;

const ridge_kernel *ridge_fault_table(void);
int ridge_fault_table_len(void);
#endif
