// attention_*_portable: one query at a time with a streaming softmax.
//
// o[i,:] = sum over visible j of exp(scale*q[i].k[j] - m) * v[j,:] / sum of the exponentials,
// with m the running maximum: when a larger score comes, the sums so far are scaled by
// exp(m_old - m_new). Any shape and alignment. FLOP (4D+6) per visible pair; k and v are read
// once per query, so limited by the caches: it is the fallback for unknown chips.
// Source of the streaming form: Milakov and Gimelshein 2018 (online softmax).
#include <math.h>

#include "../include/ridge_half.h"
#include "attention.h"

// D floats of running sum per thread, a cache line apart from the next.
RIDGE_INLINE int64_t row_floats(int64_t D) { return (D + 31) / 16 * 16; }

int64_t ridge_attention_portable_workspace(const void *args, int32_t nthreads) {
  const ridge_attention_args *a = args;
  return nthreads * row_floats(a->D) * (int64_t)sizeof(float);
}

#define IDENTITY(x) (x)

#define ATTENTION(name, T, LOAD, STORE)                                                           \
  int ridge_##name(const void *args, const ridge_ctx *ctx) {                                      \
    const ridge_attention_args *a = args;                                                         \
    int64_t D = a->D, from, to;                                                                   \
    if (ctx->workspace_bytes < ridge_attention_portable_workspace(a, ctx->nthreads)) return RIDGE_E_WORKSPACE; \
    float *sum = (float *)ctx->workspace + ctx->tid * row_floats(D);                              \
    ridge_share(a->B * a->H * a->Sq, 1, ctx->tid, ctx->nthreads, &from, &to);                     \
    for (int64_t row = from; row < to; row++) {                                                   \
      int64_t head = row / a->Sq, n = ridge_attention_visible(a, row % a->Sq);                    \
      int64_t kv = (head / a->H * a->HKV + head % a->H / (a->H / a->HKV)) * a->Skv * D;           \
      const T *q = (const T *)a->q + row * D, *k = (const T *)a->k + kv, *v = (const T *)a->v + kv; \
      T *o = (T *)a->o + row * D;                                                                 \
      float top = -INFINITY, total = 0;                                                           \
      for (int64_t d = 0; d < D; d++) sum[d] = 0;                                                 \
      for (int64_t j = 0; j < n; j++) {                                                           \
        float s = 0;                                                                              \
        for (int64_t d = 0; d < D; d++) s += LOAD(q[d]) * LOAD(k[j * D + d]);                     \
        s *= (float)a->scale;                                                                     \
        if (s > top) {                                                                            \
          float f = expf(top - s); /* 0 for the first key */                                      \
          total *= f;                                                                             \
          for (int64_t d = 0; d < D; d++) sum[d] *= f;                                            \
          top = s;                                                                                \
        }                                                                                         \
        float p = expf(s - top);                                                                  \
        total += p;                                                                               \
        for (int64_t d = 0; d < D; d++) sum[d] += p * LOAD(v[j * D + d]);                         \
      }                                                                                           \
      for (int64_t d = 0; d < D; d++) o[d] = STORE(n > 0 ? sum[d] / total : 0);                   \
    }                                                                                             \
    return RIDGE_OK;                                                                              \
  }

ATTENTION(attention_fp32_portable, float, IDENTITY, (float))
ATTENTION(attention_bf16_portable, ridge_bf16, ridge_bf16_to_float, ridge_float_to_bf16)
