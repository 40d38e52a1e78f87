// attention_*_portable: one query at a time with a streaming softmax.
//
// o[i,:] = sum over visible j of exp(scale*q[i].k[j] - m) * v[j,:] / sum of the exponentials,
// with m the running maximum, at first the least finite number (-infinity less -infinity is NaN): when a larger score comes, the sums
// so far are scaled by exp(m_old - m_new). Any shape and alignment. FLOP (4D+6) per visible pair; k and v are read
// once per query, so limited by the caches: it is the fallback for unknown chips.
// qk_softmax and causal_softmax (weights wanted) keep a row's exponentials in the workspace and store them once; softmax_v (scores
// given) is the same loop over scores that are read.
// Source of the streaming form: Milakov and Gimelshein 2018 (online softmax).
#include <float.h>
#include <math.h>

#include "../include/ridge_half.h"
#include "attention.h"

// Per thread D floats of running sum, or Skv of exponentials for the weights, a cache line apart from the next.
RIDGE_INLINE int64_t row_floats(const attention_args *full) {
  int64_t n = full->weights ? full->of.Skv : full->of.D;
  return (n + 31) / 16 * 16;
}

int64_t ridge_attention_portable_workspace(const void *args, int32_t nthreads) {
  return nthreads * row_floats(args) * (int64_t)sizeof(float);
}

#define IDENTITY(x) (x)

#define ATTENTION(name, T, LOAD, STORE)                                                           \
  static float name##_score(const attention_args *full, const T *q, const T *k, int64_t row, int64_t j) { \
    const ridge_attention_args *a = &full->of;                                                    \
    if (full->scores) return LOAD(((const T *)full->scores)[row * a->Skv + j]);                   \
    float s = 0;                                                                                  \
    for (int64_t d = 0; d < a->D; d++) s += LOAD(q[d]) * LOAD(k[j * a->D + d]);                   \
    return s * (float)a->scale;                                                                   \
  }                                                                                               \
  static void name##_weights(const attention_args *full, const T *q, const T *k, int64_t row, float *e) { \
    int64_t n = full->of.Skv, seen = ridge_attention_visible(&full->of, row % full->of.Sq);       \
    T *to = (T *)full->weights + row * n;                                                         \
    float top = -FLT_MAX, total = 0;                                                              \
    for (int64_t j = 0; j < seen; j++) {                                                          \
      e[j] = name##_score(full, q, k, row, j);                                                    \
      top = e[j] > top ? e[j] : top;                                                              \
    }                                                                                             \
    for (int64_t j = 0; j < seen; j++) total += e[j] = expf(e[j] - top);                             \
    for (int64_t j = 0; j < n; j++) to[j] = STORE(j < seen ? e[j] / total : 0);                   \
  }                                                                                               \
  int ridge_##name(const void *args, const ridge_ctx *ctx) {                                      \
    const attention_args *full = args;                                                            \
    const ridge_attention_args *a = &full->of;                                                    \
    int64_t D = a->D, from, to;                                                                   \
    if (ctx->workspace_bytes < ridge_attention_portable_workspace(a, ctx->nthreads)) return RIDGE_E_WORKSPACE; \
    float *sum = (float *)ctx->workspace + ctx->tid * row_floats(full);                           \
    ridge_share(a->B * a->H * a->Sq, 1, ctx->tid, ctx->nthreads, &from, &to);                     \
    for (int64_t row = from; row < to; row++) {                                                   \
      int64_t head = row / a->Sq, n = ridge_attention_visible(a, row % a->Sq);                    \
      int64_t kv = (head / a->H * a->HKV + head % a->H / (a->H / a->HKV)) * a->Skv * D;           \
      const T *q = full->scores ? NULL : (const T *)a->q + row * D;                               \
      const T *k = full->scores ? NULL : (const T *)a->k + kv;                                    \
      if (full->weights) {                                                                        \
        name##_weights(full, q, k, row, sum);                                                     \
        continue;                                                                                 \
      }                                                                                           \
      const T *v = (const T *)a->v + kv;                                                          \
      T *o = (T *)a->o + row * D;                                                                 \
      float top = -FLT_MAX, total = 0;                                                            \
      for (int64_t d = 0; d < D; d++) sum[d] = 0;                                                 \
      for (int64_t j = 0; j < n; j++) {                                                           \
        float s = name##_score(full, q, k, row, j);                                               \
        if (s > top) {                                                                            \
          float f = expf(top - s); /* first key: of sums that are 0 */                             \
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
