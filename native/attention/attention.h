// Shared by the attention kernels: which keys a query sees, and the workspace functions.
#ifndef RIDGE_ATTENTION_LOCAL_H
#define RIDGE_ATTENTION_LOCAL_H

#include "../include/ridge_attention.h"

#define RIDGE_ATTENTION_WORKSPACE(name) int64_t ridge_##name##_workspace(const void *args, int32_t nthreads);

int64_t ridge_attention_portable_workspace(const void *args, int32_t nthreads);
RIDGE_ATTENTION_WORKSPACE(attention_fp32_avx2)
RIDGE_ATTENTION_WORKSPACE(attention_bf16_avx2)
RIDGE_ATTENTION_WORKSPACE(attention_fp32_avx512)
RIDGE_ATTENTION_WORKSPACE(attention_fp32_avx512_model)
RIDGE_ATTENTION_WORKSPACE(attention_fp32_neon)
RIDGE_ATTENTION_WORKSPACE(attention_bf16_avx512)
RIDGE_ATTENTION_WORKSPACE(attention_bf16_avx512_model)
RIDGE_ATTENTION_WORKSPACE(attention_bf16_avx512bf16)
RIDGE_ATTENTION_WORKSPACE(attention_bf16_avx512bf16_model)
RIDGE_ATTENTION_WORKSPACE(attention_bf16_neon)
RIDGE_ATTENTION_WORKSPACE(attention_bf16_amx)
RIDGE_ATTENTION_WORKSPACE(attention_bf16_amx_model)
int ridge_attention_amx_takes(const void *args);

// Attention and its two halves. scores: softmax_v, whose softmax is that of scores[B,Sq,Skv] in place of
// scale*q*k^T (q and k are NULL). weights: qk_softmax, which stores softmax(scale*q*k^T) as weights[B,Sq,Skv] (v and o
// are NULL). Both: causal_softmax, the softmax of scores[B,Sq,Skv] with Sq = Skv, 0 where a key is not seen (q, k, v and o are NULL).
// None of them has heads beside B, and only the last a mask.
typedef struct attention_args {
  ridge_attention_args of;
  const void *scores;
  void *weights;
} attention_args;

// Keys 0 .. visible-1 are seen by query i.
RIDGE_INLINE int64_t ridge_attention_visible(const ridge_attention_args *a, int64_t i) {
  if (!a->causal) return a->Skv;
  int64_t n = i + a->Skv - a->Sq + 1;
  return n < 0 ? 0 : n;
}

#endif
