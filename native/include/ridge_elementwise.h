// Arguments of the elementwise family. Everything is contiguous.
//
//   binary:  y[i] = a[i] op b[i]                      add, multiply, add_relu (y = max(a + b, 0))
//   unary:   y[i] = f(a[i])                           relu ... silu, scale (y = a * s)
//   channel: y = a + p[0][c]                          bias_add
//            y = (a - mean)/sqrt(var + s)*gamma + beta   batch_norm (inference)
//            y = low(round(a * p[0][c])), at most 127    requantize, int32 to int8 (ridge_requant.h)
//
// n = outer * channels * inner for the channel ops: element (o, c, i) lies at
// (o * channels + c) * inner + i. Rows of a matrix and NHWC images have inner = 1, NCHW
// images inner = H * W.
#ifndef RIDGE_ELEMENTWISE_H
#define RIDGE_ELEMENTWISE_H

#include "ridge.h"

// In the order of goharness/op.ElementwiseOps.
enum {
  RIDGE_EW_ADD,
  RIDGE_EW_MULTIPLY,
  RIDGE_EW_RELU,
  RIDGE_EW_GELU,
  RIDGE_EW_GELU_TANH,
  RIDGE_EW_SIGMOID,
  RIDGE_EW_TANH,
  RIDGE_EW_EXP,
  RIDGE_EW_SQRT_ABS,
  RIDGE_EW_SIN,
  RIDGE_EW_COS,
  RIDGE_EW_SILU,
  RIDGE_EW_SCALE,
  RIDGE_EW_BIAS_ADD,
  RIDGE_EW_BATCH_NORM,
  RIDGE_EW_REQUANTIZE,
  RIDGE_EW_ADD_RELU,
};

typedef struct ridge_elementwise_args {
  int64_t n; // elements
  int64_t outer, channels, inner;
  const void *a, *b;
  void *y;
  const void *p[4]; // [channels]: bias; or gamma, beta, mean, variance; in the data's dtype; or fp32 scales
  double s;         // scale: the factor; batch_norm: epsilon; requantize: the least y, 0 or -128
  int64_t around;      // bytes of a working set above which non-temporal stores win
  int32_t op;       // RIDGE_EW_*
} ridge_elementwise_args;

#endif
