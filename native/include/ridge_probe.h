// Arguments of the probe family: register-only arithmetic peaks, the clock chain and the
// empty dispatch. Each probe also proves what it executed: see the family's kernels.
#ifndef RIDGE_PROBE_H
#define RIDGE_PROBE_H

#include "ridge.h"

typedef struct ridge_probe_args {
  int64_t instructions; // arithmetic instructions to execute over all threads (a multiple of 1024)
  double *result;       // [1]: the executed count that the accumulators prove (see probe/README in each kernel)
} ridge_probe_args;

#endif
