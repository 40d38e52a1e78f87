// Arguments of the reduction family (sum, mean, max, min, softmax, layer_norm, rms_norm, dot).
// x is [rows, cols], row-major, contiguous. dim: -1 all elements -> y[1]; 0 over rows -> y[cols];
// 1 over cols -> y[rows]. softmax keeps the shape; the norms work along cols.
#ifndef RIDGE_REDUCTION_H
#define RIDGE_REDUCTION_H

#include "ridge.h"

typedef struct ridge_reduction_args {
  int64_t rows, cols;
  const void *x;
  const void *x2;           // second operand of dot
  const void *gamma, *beta; // [cols], norms
  void *y;
  double eps;
  int32_t dim;
} ridge_reduction_args;

#endif
