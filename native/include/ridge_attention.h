// Arguments of the attention family.
//
//   o[b,h,i,:] = sum_j softmax_j(scale * q[b,h,i,:] . k[b,g,j,:]) * v[b,g,j,:],  g = h / (H / HKV)
//
// q, o [B,H,Sq,D]; k, v [B,HKV,Skv,D]; contiguous. causal: key j is visible to query i when
// j <= i + (Skv - Sq) (the last query sees every key). Rows with no visible key give 0.
#ifndef RIDGE_ATTENTION_H
#define RIDGE_ATTENTION_H

#include "ridge.h"

typedef struct ridge_attention_args {
  int64_t B, H, HKV, Sq, Skv, D;
  const void *q, *k, *v;
  void *o;
  double scale;
  int32_t causal;
} ridge_attention_args;

#endif
