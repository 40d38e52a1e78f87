// Shared by the attention kernels: which keys a query sees, and the workspace functions.
#ifndef RIDGE_ATTENTION_LOCAL_H
#define RIDGE_ATTENTION_LOCAL_H

#include "../include/ridge_attention.h"

int64_t ridge_attention_portable_workspace(const void *args, int32_t nthreads);
int64_t ridge_attention_fp32_avx2_workspace(const void *args, int32_t nthreads);
int64_t ridge_attention_bf16_avx2_workspace(const void *args, int32_t nthreads);

// Keys 0 .. visible-1 are seen by query i.
RIDGE_INLINE int64_t ridge_attention_visible(const ridge_attention_args *a, int64_t i) {
  if (!a->causal) return a->Skv;
  int64_t n = i + a->Skv - a->Sq + 1;
  return n < 0 ? 0 : n;
}

#endif
