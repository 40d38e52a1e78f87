// The element type of a kernel file over the vectors of ridge_vec.h: T is what memory holds,
// V and S are what is computed with. bf16 is widened exactly to fp32 and rounded once when it
// is stored.
//
// The including file defines RIDGE_VEC_DTYPE: RIDGE_VEC_FP32, RIDGE_VEC_BF16 or RIDGE_VEC_FP64.
#ifndef RIDGE_VEC_SPAN_H
#define RIDGE_VEC_SPAN_H

#include "ridge_vec.h"

#define RIDGE_VEC_FP32 0
#define RIDGE_VEC_BF16 1
#define RIDGE_VEC_FP64 2

#if RIDGE_VEC_DTYPE == RIDGE_VEC_FP64
typedef double T, S;
typedef vd V;
#define VN VLD // lanes of V
#define LOAD vload_d
#define STORE vstore_d
#define STREAM vstore_d // no fp64 kernel streams
#define WIDEN(x) (x)
#define NARROW(x) (x)
#elif RIDGE_VEC_DTYPE == RIDGE_VEC_BF16
typedef ridge_bf16 T;
typedef float S;
typedef vf V;
#define VN VL
#define LOAD vload_bf16
#define STORE vstore_bf16
#define STREAM vstream_bf16
#define WIDEN ridge_bf16_to_float
#define NARROW(x) ridge_float_to_bf16((float)(x))
#else
typedef float T, S;
typedef vf V;
#define VN VL
#define LOAD vload
#define STORE vstore
#define STREAM vstream
#define WIDEN(x) (x)
#define NARROW(x) ((float)(x))
#endif

// k elements; with fewer than a vector the other lanes are 0.
VFN V load(const T *p, int64_t k) {
  if (k == VN) return LOAD(p);
  T lane[VN] = {0};
  for (int64_t i = 0; i < k; i++) lane[i] = p[i];
  return LOAD(lane);
}

// k elements; whole vectors past the caches with nt, then p must be aligned (see head).
VFN void store(T *p, V v, int64_t k, int nt) {
  if (k == VN) {
    if (nt) STREAM(p, v);
    else STORE(p, v);
    return;
  }
  T lane[VN];
  STORE(lane, v);
  for (int64_t i = 0; i < k; i++) p[i] = lane[i];
}

// Elements before the first y that is aligned for a vector store.
VFN int64_t head(const T *y, int64_t n) {
  int64_t h = (int64_t)(-(uintptr_t)y / sizeof(T) & (VN - 1));
  return h < n ? h : n;
}

// y[i] = EXPR for all i < n, operands read by IN(p); whole vectors are stored aligned.
#define IN(p) load((p) + i, k)
#define SPAN(EXPR)                                           \
  do {                                                       \
    int64_t i = 0, k = head(y, n);                           \
    if (k) store(y, EXPR, k, nt);                            \
    i = k, k = VN;                                           \
    for (; i + VN <= n; i += VN) store(y + i, EXPR, VN, nt); \
    k = n - i;                                               \
    if (k) store(y + i, EXPR, k, nt);                        \
  } while (0)

// k fp32 values of a workspace vector beside a span.
VFN vf load_fp32(const float *p, int64_t k) {
  if (k == VL) return vload(p);
  float lane[VL] = {0};
  for (int64_t i = 0; i < k; i++) lane[i] = p[i];
  return vload(lane);
}

#endif
