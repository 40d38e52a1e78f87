// Arguments of the attention family.
//
//   o[b,h,i,:] = sum_j softmax_j(scale * q[b,h,i,:] . k[b,g,j,:]) * v[b,g,j,:],  g = h / (H / HKV)
//
// q, o [B,H,Sq,D]; k, v [B,HKV,Skv,D]; contiguous. causal: key j is visible to query i when
// j <= i + (Skv - Sq) (the last query sees every key). Rows with no visible key give 0, whatever k and v hold.
//
// Special values are those of the softmax: a visible score that is NaN or +infinity, or none but -infinity, makes a row NaN; -infinity
// beside finite scores has the weight 0, as have scores so far below the row's largest that the weight would be less than 2^-125 of it
// (portable: than the least fp32). A hidden key's weight is 0, so finite rows of v that a query does not see never reach its output. Its NaN
// or infinity may, 0 * infinity being NaN, where queries side by side see different keys (portable: never). Scores are computed in units of
// log2(e), so one is infinite from 2.36e38 on.
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
