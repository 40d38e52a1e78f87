// gemm_*_portable: the plain triple loop, one per dtype.
//
// C[M,N] = act(alpha*A*op(B) + beta*D + bias) + residual; any shape, pitch and alignment.
// FLOP 2MNK; bytes: A once, B once per row of C. Limited by the load ports: it is the
// fallback for unknown chips and the reference that other kernels are compared with.
#include <math.h>

#include "../include/ridge_gemm.h"
#include "../include/ridge_half.h"
#include "../include/ridge_requant.h"

RIDGE_INLINE double act_double(double x, int act) {
  if (act > RIDGE_ACT_RELU && x == -INFINITY) return -0.0; // the limit: -infinity times 0 is NaN
  switch (act) {
    case RIDGE_ACT_RELU: return x < 0 ? 0 : x; // NaN stays
    case RIDGE_ACT_GELU: return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case RIDGE_ACT_GELU_TANH: return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case RIDGE_ACT_SILU: return x / (1 + exp(-x));
  }
  return x;
}

#define IDENTITY(x) (x)

// Threads share the rows of all products of a batch; row r is row i of product z.
#define GEMM_ROWS(g, ctx) ridge_share((g)->M * ((g)->batch > 1 ? (g)->batch : 1), 1, (ctx)->tid, (ctx)->nthreads, &from, &to)
#define GEMM_ROW(g, TA, TB)                                                                \
  const int64_t z = r / (g)->M, i = r % (g)->M, step = (g)->trans_b ? 1 : (g)->ldb;        \
  const TA *a = A + z * (g)->stride_a + i * (g)->lda;                                      \
  const TB *b = B + z * (g)->stride_b + ((g)->trans_b ? j * (g)->ldb : j)

// One kernel: T stored type of A and B, with LOAD to the accumulator type S; TC that of the others, LOAD_C, and STORE from double or S.
#define GEMM_MIXED(name, T, TC, S, LOAD, LOAD_C, STORE)                                    \
  int ridge_##name(const void *args, const ridge_ctx *ctx) {                               \
    const ridge_gemm_args *g = args;                                                       \
    const T *A = g->A, *B = g->B;                                                          \
    const TC *D = g->D, *bias = g->bias, *res = g->residual;                               \
    TC *C = g->C;                                                                          \
    int64_t from, to;                                                                      \
    GEMM_ROWS(g, ctx);                                                                     \
    for (int64_t r = from; r < to; r++)                                                    \
      for (int64_t j = 0; j < g->N; j++) {                                                 \
        S acc = 0;                                                                         \
        GEMM_ROW(g, T, T);                                                                 \
        for (int64_t k = 0; k < g->K; k++) acc += (S)LOAD(a[k]) * (S)LOAD(b[k * step]);    \
        double v = g->alpha * (double)acc;                                                 \
        const int64_t at = z * g->stride_c + i * g->ldc + j;                               \
        if (g->beta != 0) v += g->beta * (double)LOAD_C(D[z * g->stride_d + i * g->ldd + j]); \
        if (bias) v += (double)LOAD_C(bias[j]);                                            \
        v = act_double(v, g->act);                                                         \
        if (res) v += (double)LOAD_C(res[at]);                                             \
        C[at] = STORE(v);                                                                  \
      }                                                                                    \
    return RIDGE_OK;                                                                       \
  }

#define GEMM_FLOAT(name, T, S, LOAD, STORE) GEMM_MIXED(name, T, T, S, LOAD, LOAD, STORE)

// fp32 rounded to tf32: 10 bits of fraction, ties to even; infinities and NaN stay.
RIDGE_INLINE float tf32_of(float x) {
  const uint32_t u = ridge_float_as_u32(x);
  return (u & 0x7f800000u) == 0x7f800000u ? x : ridge_u32_as_float((u + 0xfff + (u >> 13 & 1)) & 0xffffe000u);
}

// fp8_e4m3: bias 7, denormals, all ones is NaN.
RIDGE_INLINE float e4m3_to_float(uint8_t b) {
  if ((b & 0x7f) == 0x7f) return NAN;
  return ridge_u32_as_float((uint32_t)(b & 0x80) << 24 | (uint32_t)(b & 0x7f) << 20) * 0x1p120f;
}

#define GEMM_INT(name, TA)                                                                 \
  int ridge_##name(const void *args, const ridge_ctx *ctx) {                               \
    const ridge_gemm_args *g = args;                                                       \
    const TA *A = g->A;                                                                    \
    const int8_t *B = g->B;                                                                \
    int32_t *C = g->C;                                                                     \
    int64_t from, to;                                                                      \
    GEMM_ROWS(g, ctx);                                                                     \
    for (int64_t r = from; r < to; r++)                                                    \
      for (int64_t j = 0; j < g->N; j++) {                                                 \
        uint32_t acc = 0; /* wraps as the hardware's 32-bit accumulators do */             \
        GEMM_ROW(g, TA, int8_t);                                                           \
        for (int64_t k = 0; k < g->K; k++) acc += (uint32_t)((int32_t)a[k] * b[k * step]); \
        if (g->beta != 0) acc += ((const uint32_t *)g->D)[z * g->stride_d + i * g->ldd + j]; \
        if (g->bias) acc += ((const uint32_t *)g->bias)[j];                                \
        const int64_t at = z * g->stride_c + i * g->ldc + j;                               \
        if (g->scale)                                                                      \
          ((int8_t *)g->C)[at] = ridge_requant_one((int32_t)acc, g->scale[j], g->act == RIDGE_ACT_RELU ? 0 : -128); \
        else                                                                               \
          C[at] = (int32_t)acc;                                                            \
      }                                                                                    \
    return RIDGE_OK;                                                                       \
  }

GEMM_FLOAT(gemm_fp64_portable, double, double, IDENTITY, (double))
GEMM_FLOAT(gemm_fp32_portable, float, float, IDENTITY, (float))
GEMM_FLOAT(gemm_fp16_portable, ridge_fp16, float, ridge_fp16_to_float, ridge_float_to_fp16)
GEMM_FLOAT(gemm_bf16_portable, ridge_bf16, float, ridge_bf16_to_float, ridge_float_to_bf16)
GEMM_MIXED(gemm_tf32_portable, float, float, float, tf32_of, IDENTITY, (float))
GEMM_MIXED(gemm_fp8_e4m3_portable, uint8_t, ridge_bf16, float, e4m3_to_float, ridge_bf16_to_float, ridge_float_to_bf16)
GEMM_INT(gemm_int8_portable, int8_t)
GEMM_INT(gemm_u8s8_portable, uint8_t)

// swiglu_*_portable and mlp_*_portable (ridge_gemm.h): element by element of C, hidden features of a row in the workspace.
#define GEMM_LAYERS(dtype, T, LOAD, STORE)                                                 \
  RIDGE_INLINE float dot_##dtype(const T *a, const T *b, int64_t k) {                      \
    float acc = 0;                                                                         \
    for (int64_t q = 0; q < k; q++) acc += LOAD(a[q]) * LOAD(b[q]);                        \
    return acc;                                                                            \
  }                                                                                        \
  int ridge_swiglu_##dtype##_portable(const void *args, const ridge_ctx *ctx) {            \
    const ridge_gemm_args *g = args;                                                       \
    const T *A = g->A, *gate = g->B, *up = g->B2;                                          \
    int64_t from, to;                                                                      \
    ridge_share(g->M, 1, ctx->tid, ctx->nthreads, &from, &to);                             \
    for (int64_t i = from; i < to; i++)                                                    \
      for (int64_t j = 0; j < g->N; j++)                                                   \
        ((T *)g->C)[i * g->ldc + j] =                                                      \
            STORE(act_double(dot_##dtype(A + i * g->lda, gate + j * g->ldb, g->K), RIDGE_ACT_SILU) * \
                  dot_##dtype(A + i * g->lda, up + j * g->ldb2, g->K));                    \
    return RIDGE_OK;                                                                       \
  }                                                                                        \
  int ridge_mlp_##dtype##_portable(const void *args, const ridge_ctx *ctx) {               \
    const ridge_gemm_args *g = args;                                                       \
    const T *A = g->A, *w1 = g->B, *w2 = g->B2, *b1 = g->bias, *b2 = g->bias2;             \
    if (ctx->workspace_bytes < 4 * g->H * ctx->nthreads) return RIDGE_E_WORKSPACE;         \
    float *hid = (float *)ctx->workspace + ctx->tid * g->H;                                \
    int64_t from, to;                                                                      \
    ridge_share(g->M, 1, ctx->tid, ctx->nthreads, &from, &to);                             \
    for (int64_t i = from; i < to; i++) {                                                  \
      for (int64_t h = 0; h < g->H; h++)                                                   \
        hid[h] = (float)act_double((double)dot_##dtype(A + i * g->lda, w1 + h * g->ldb, g->K) + LOAD(b1[h]), g->act); \
      for (int64_t j = 0; j < g->N; j++) {                                                 \
        float acc = 0;                                                                     \
        for (int64_t h = 0; h < g->H; h++) acc += hid[h] * LOAD(w2[j * g->ldb2 + h]);      \
        ((T *)g->C)[i * g->ldc + j] = STORE((double)acc + LOAD(b2[j]));                    \
      }                                                                                    \
    }                                                                                      \
    return RIDGE_OK;                                                                       \
  }
GEMM_LAYERS(fp32, float, IDENTITY, (float))
GEMM_LAYERS(bf16, ridge_bf16, ridge_bf16_to_float, ridge_float_to_bf16)

// gemv_*_portable: C[1,N] = A[1,K] * B[N,K]^T, threads share N. FLOP 2NK; B is read once.
#define GEMV(name, T)                                                            \
  int ridge_##name(const void *args, const ridge_ctx *ctx) {                     \
    const ridge_gemm_args *g = args;                                             \
    const T *x = g->A, *A = g->B;                                                \
    T *y = g->C;                                                                 \
    int64_t from, to;                                                            \
    ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &from, &to);                  \
    for (int64_t j = from; j < to; j++) {                                        \
      T acc = 0;                                                                 \
      for (int64_t k = 0; k < g->K; k++) acc += A[j * g->ldb + k] * x[k];        \
      y[j] = acc;                                                                \
    }                                                                            \
    return RIDGE_OK;                                                             \
  }

GEMV(gemv_fp64_portable, double)
GEMV(gemv_fp32_portable, float)
