// Arguments of the memory family: streams, copies, transposes, fills, the pointer chase and
// the bandwidth probes. n counts elements.
#ifndef RIDGE_MEMORY_H
#define RIDGE_MEMORY_H

#include "ridge.h"

// What the bandwidth probe does with its arrays, in the order of goharness/op.Accesses.
enum {
  RIDGE_ACCESS_READ,
  RIDGE_ACCESS_WRITE,
  RIDGE_ACCESS_NT_WRITE,
  RIDGE_ACCESS_COPY,
  RIDGE_ACCESS_NT_COPY,
  RIDGE_ACCESS_TRIAD,
  RIDGE_ACCESS_NT_TRIAD,
  RIDGE_ACCESS_UPDATE,
};

typedef struct ridge_memory_args {
  int64_t n;          // elements of each array (all threads together)
  int64_t rows, cols; // transpose, layout: y[cols,rows] = a[rows,cols]^T of every image; else 1, n
  const void *a, *b;
  void *y;
  double s;            // scalar of scale, triad, add_scalar, fill, axpy
  int64_t steps;       // pointer chase: links to follow from where y stands; probes: passes over the working set
  int64_t working_set; // bytes of all arrays together: the predicate of _nt kernels
  int64_t around;         // bytes of a working set above which non-temporal stores win
  int32_t access;      // RIDGE_ACCESS_* of the bandwidth probe
  int64_t images;      // layout: matrices, one after the other; transpose: 1
} ridge_memory_args;

#endif
