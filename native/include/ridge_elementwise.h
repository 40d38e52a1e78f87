// Arguments of the elementwise family: y[i] = f(a[i], b[i]) over n contiguous elements; with
// rows > 0 the operands are [rows, cols] and vectors over cols are broadcast:
//   bias_add: y = a + p[col];  scale: y = a * s;  batch_norm: y = (a - mean)/sqrt(var+eps)*gamma + beta
// (params p, p1.. are [cols]; batch_norm on NHWC data has channels last, or channels = rows mod channels for NCHW).
#ifndef RIDGE_ELEMENTWISE_H
#define RIDGE_ELEMENTWISE_H

#include "ridge.h"

typedef struct ridge_elementwise_args {
  int64_t n;          // elements
  int64_t outer, channels, inner; // n = outer * channels * inner for per-channel ops (NCHW: N, C, H*W; NHWC: N*H*W, C, 1)
  const void *a, *b;
  void *y;
  const void *p[4]; // per-channel vectors: bias; or gamma, beta, mean, variance
  double s;         // scalar: factor, addend, epsilon
  double alpha;
} ridge_elementwise_args;

#endif
