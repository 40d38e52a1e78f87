// Arguments of the reduction family. x is [rows, cols], row-major, contiguous.
//
//   sum, mean, max, min: dim -1 over all elements -> y[1]; 0 over rows -> y[cols];
//                        1 over columns -> y[rows]
//   softmax:             exp(x - max) / sum along dim 0 or 1 -> y[rows, cols]
//   layer_norm:          (x - mean)/sqrt(var + eps)*gamma + beta along the columns
//   rms_norm:            x/sqrt(mean(x^2) + eps)*gamma along the columns
//   add_layer_norm, add_rms_norm: z = x + r rounded to the data's type, y = layer_norm or rms_norm of z;
//                        both are written: the residual stream of a transformer goes on as z
//                        The norms hold for |x| up to 2^126, though fp32 has no squares of such numbers; beyond, 1/sqrt
//                        is a denormal number and x - mean may be infinite
//   argmax:              index of the first largest element along dim, y of int64; NaN above all numbers
//
// max and min of an input with NaN are undefined (x86 drops it, NEON keeps it); of nothing,
// -inf and +inf.
#ifndef RIDGE_REDUCTION_H
#define RIDGE_REDUCTION_H

#include "ridge.h"

// In the order of goharness/op.ReductionOps.
enum {
  RIDGE_RD_SUM,
  RIDGE_RD_MEAN,
  RIDGE_RD_MAX,
  RIDGE_RD_MIN,
  RIDGE_RD_SOFTMAX,
  RIDGE_RD_LAYER_NORM,
  RIDGE_RD_RMS_NORM,
  RIDGE_RD_ARGMAX,
  RIDGE_RD_ADD_LAYER_NORM,
  RIDGE_RD_ADD_RMS_NORM,
};

typedef struct ridge_reduction_args {
  int64_t rows, cols;
  const void *x;
  const void *gamma, *beta; // [cols], norms, in x's dtype
  const void *r; // [rows, cols], add_*_norm: what x is added to
  void *z;       // [rows, cols], add_*_norm: the sum
  void *y;
  double eps;
  int64_t around; // bytes of a working set above which non-temporal stores win
  int32_t dim;
  int32_t op; // RIDGE_RD_*
} ridge_reduction_args;

#endif
