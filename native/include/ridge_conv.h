// Arguments of the conv family (ops conv2d, depthwise included as groups = C).
//
//   y[n,ho,wo,k] = act(bias[k] + sum over r,s,c of x[n, ho*stride_h - pad_h + r*dil_h, ..., c] * w[...] + residual)
//
// layout 0: NCHW, x[N,C,H,W], w[K,C/groups,R,S], y[N,K,Ho,Wo]
// layout 1: NHWC, x[N,H,W,C], w[K,R,S,C/groups], y[N,Ho,Wo,K]
// fp32: fp32 throughout; bf16: fp32 accumulation, y bf16; int8: s8*s8 -> int32 y, no act.
// int8 with scale (requantised): y is int8, act none or ReLU, no residual,
//
//   y = low(round(scale[k] * (float)(bias[k] + sum))), at most 127
//
// The sum and bias[k] wrap as int32; its conversion to float rounds once and the product once more (one
// multiplication, never fused with what follows); low raises to -128, with ReLU to 0; round is to the nearest
// integer, halves to even. Each step is exactly this one, so all kernels give the same bits. scale[k] is finite and >= 0.
#ifndef RIDGE_CONV_H
#define RIDGE_CONV_H

#include "ridge.h"

typedef struct ridge_conv_args {
  int64_t N, C, H, W, K, R, S, Ho, Wo;
  int64_t stride_h, stride_w, pad_h, pad_w, dil_h, dil_w, groups;
  const void *x, *w;
  const void *bias;     // [K] or NULL; fp32 and bf16: in y's type; int8: int32
  const void *residual; // y's shape and type or NULL
  void *y;
  int32_t layout;
  int32_t act; // RIDGE_ACT_*
  const float *scale; // [K], int8 alone: y is requantised; or NULL
  int32_t packing;    // 1: w comes packed beforehand (ridge.h)
  void *packed;       // the kernel's own copy of w
} ridge_conv_args;

#endif
