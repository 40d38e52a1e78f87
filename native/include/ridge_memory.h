// Arguments of the memory family: streams, copies, transposes, fills, the pointer chase and
// the bandwidth probes. n counts elements.
#ifndef RIDGE_MEMORY_H
#define RIDGE_MEMORY_H

#include "ridge.h"

typedef struct ridge_memory_args {
  int64_t n;          // elements of each array (all threads together)
  int64_t rows, cols; // transpose: y[cols,rows] = x[rows,cols]^T; else 1, n
  const void *a, *b;
  void *y;
  double s;      // scalar of scale, triad, add_scalar, fill, axpy
  int64_t steps; // pointer chase: links to follow; probes: passes over the working set
} ridge_memory_args;

#endif
