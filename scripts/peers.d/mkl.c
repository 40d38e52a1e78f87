// MKL: plain products, products with B packed beforehand (cblas_?gemm_pack and _compute), a
// kernel made for the shape (mkl_jit_create_?gemm) for small ones, and M = 1 as a
// matrix-vector product; batches by cblas_?gemm_batch_strided. bf16 and fp16 come with fp32 results only (gemm_bf16bf16f32): the
// fp32 result is rounded to the output tensor outside the timing, in MKL's favour.
// Of elementwise functions, those of its vector math. u8s8 has row-major A unsigned and B signed; s8·s8 is not offered.
#include <mkl.h>
#include <stdio.h>

#include "peer.h"
#include "ridge_elementwise.h"
#include "ridge_gemm.h"

// One prepared product: MKL's copy of B, its fp32 result, its generated kernel.
typedef struct prepared {
  const ridge_gemm_args *args;
  void *packed;
  int fresh;  // packed holds the present B
  float *c32; // result of a bf16 or fp16 product
  int half;   // 1: C is bf16
  void *jitter;
  void *kernel;
} prepared;

static prepared slots[8];

static prepared *slot(const ridge_gemm_args *a) {
  for (int i = 0; i < 8; i++) {
    if (slots[i].args == a) return &slots[i];
    if (!slots[i].args) return slots[i].args = a, &slots[i];
  }
  return NULL;
}

static int plain(const void *args) {
  const ridge_gemm_args *a = args;
  return !a->bias && !a->residual && a->act == RIDGE_ACT_NONE && a->beta == 0 && a->M > 0 && a->N > 0 && a->K > 0;
}
static int single(const void *args) { return plain(args) && ((const ridge_gemm_args *)args)->batch <= 1; }
static int untransposed(const void *args) { return single(args) && !((const ridge_gemm_args *)args)->trans_b; }
static int one_row(const void *args) { return single(args) && ((const ridge_gemm_args *)args)->M == 1; }
// What mkl_jit_create_?gemm is meant for; above it falls back to the ordinary product.
static int small(const void *args) {
  const ridge_gemm_args *a = args;
  return untransposed(args) && a->M <= 128 && a->N <= 128 && a->K <= 128;
}

#define TRANSB(a) ((a)->trans_b ? CblasTrans : CblasNoTrans)

#define FLOATS(T, s, S) \
  static int peer_##s##gemm(const void *args, const ridge_ctx *ctx) { \
    const ridge_gemm_args *a = args; \
    if (a->batch > 1) { \
      cblas_##s##gemm_batch_strided(CblasRowMajor, CblasNoTrans, TRANSB(a), a->M, a->N, a->K, (T)a->alpha, a->A, a->lda, a->stride_a, a->B, a->ldb, \
                                    a->stride_b, 0, a->C, a->ldc, a->stride_c, a->batch); \
      return RIDGE_OK; \
    } \
    cblas_##s##gemm(CblasRowMajor, CblasNoTrans, TRANSB(a), a->M, a->N, a->K, (T)a->alpha, a->A, a->lda, a->B, a->ldb, 0, a->C, a->ldc); \
    return RIDGE_OK; \
  } \
  static int peer_##s##gemm_packed(const void *args, const ridge_ctx *ctx) { \
    const ridge_gemm_args *a = args; \
    prepared *p = slot(a); \
    if (!p) return RIDGE_E_SYSTEM; \
    if (!p->fresh) { \
      if (!p->packed && !(p->packed = mkl_malloc(cblas_##s##gemm_pack_get_size(CblasBMatrix, a->M, a->N, a->K), 64))) return RIDGE_E_SYSTEM; \
      cblas_##s##gemm_pack(CblasRowMajor, CblasBMatrix, TRANSB(a), a->M, a->N, a->K, (T)a->alpha, a->B, a->ldb, p->packed); \
      p->fresh = 1; \
    } \
    cblas_##s##gemm_compute(CblasRowMajor, CblasNoTrans, CblasPacked, a->M, a->N, a->K, a->A, a->lda, p->packed, a->ldb, 0, a->C, a->ldc); \
    return RIDGE_OK; \
  } \
  static int peer_##s##gemm_jit(const void *args, const ridge_ctx *ctx) { \
    const ridge_gemm_args *a = args; \
    prepared *p = slot(a); \
    if (!p) return RIDGE_E_SYSTEM; \
    if (!p->kernel) { \
      if (mkl_jit_create_##s##gemm(&p->jitter, MKL_ROW_MAJOR, MKL_NOTRANS, MKL_NOTRANS, a->M, a->N, a->K, (T)a->alpha, a->lda, a->ldb, 0, a->ldc) == MKL_JIT_ERROR) \
        return RIDGE_E_SYSTEM; \
      p->kernel = (void *)mkl_jit_get_##s##gemm_ptr(p->jitter); \
    } \
    ((s##gemm_jit_kernel_t)p->kernel)(p->jitter, (T *)a->A, (T *)a->B, a->C); \
    return RIDGE_OK; \
  } \
  static int peer_##s##gemv(const void *args, const ridge_ctx *ctx) { \
    const ridge_gemm_args *a = args; \
    if (a->trans_b) \
      cblas_##s##gemv(CblasRowMajor, CblasNoTrans, a->N, a->K, (T)a->alpha, a->B, a->ldb, a->A, 1, 0, a->C, 1); \
    else \
      cblas_##s##gemv(CblasRowMajor, CblasTrans, a->K, a->N, (T)a->alpha, a->B, a->ldb, a->A, 1, 0, a->C, 1); \
    return RIDGE_OK; \
  }
FLOATS(float, s, S)
FLOATS(double, d, D)

// Products of 16-bit floats with an fp32 result.
#define HALVES(name, T, isbf16) \
  static int peer_##name(const void *args, const ridge_ctx *ctx, int pack) { \
    const ridge_gemm_args *a = args; \
    prepared *p = slot(a); \
    if (!p || (!p->c32 && !(p->c32 = peer_alloc((size_t)(a->M * a->N * 4))))) return RIDGE_E_SYSTEM; \
    p->half = isbf16; \
    if (!pack) { \
      cblas_gemm_##name(CblasRowMajor, CblasNoTrans, TRANSB(a), a->M, a->N, a->K, (float)a->alpha, a->A, a->lda, a->B, a->ldb, 0, p->c32, a->N); \
      return RIDGE_OK; \
    } \
    if (!p->fresh) { \
      if (!p->packed && !(p->packed = mkl_malloc(cblas_gemm_##name##_pack_get_size(CblasBMatrix, a->M, a->N, a->K), 64))) return RIDGE_E_SYSTEM; \
      cblas_gemm_##name##_pack(CblasRowMajor, CblasBMatrix, TRANSB(a), a->M, a->N, a->K, a->B, a->ldb, p->packed); \
      p->fresh = 1; \
    } \
    cblas_gemm_##name##_compute(CblasRowMajor, CblasNoTrans, CblasPacked, a->M, a->N, a->K, (float)a->alpha, a->A, a->lda, p->packed, a->ldb, 0, p->c32, a->N); \
    return RIDGE_OK; \
  } \
  static int peer_##name##_plain(const void *args, const ridge_ctx *ctx) { return peer_##name(args, ctx, 0); } \
  static int peer_##name##_packed(const void *args, const ridge_ctx *ctx) { return peer_##name(args, ctx, 1); }
HALVES(bf16bf16f32, MKL_BF16, 1)
HALVES(f16f16f32, MKL_F16, 0)

static int peer_u8s8(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *a = args;
  const MKL_INT32 zero = 0;
  cblas_gemm_s8u8s32(CblasRowMajor, CblasNoTrans, TRANSB(a), CblasFixOffset, a->M, a->N, a->K, 1, a->A, a->lda, 0, a->B, a->ldb, 0, 0, a->C, a->ldc, &zero);
  return RIDGE_OK;
}

static int peer_u8s8_packed(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *a = args;
  const MKL_INT32 zero = 0;
  prepared *p = slot(a);
  if (!p) return RIDGE_E_SYSTEM;
  if (!p->fresh) {
    if (!p->packed && !(p->packed = mkl_malloc(cblas_gemm_s8u8s32_pack_get_size(CblasBMatrix, a->M, a->N, a->K), 64))) return RIDGE_E_SYSTEM;
    cblas_gemm_s8u8s32_pack(CblasRowMajor, CblasBMatrix, TRANSB(a), a->M, a->N, a->K, a->B, a->ldb, p->packed);
    p->fresh = 1;
  }
  cblas_gemm_s8u8s32_compute(CblasRowMajor, CblasNoTrans, CblasPacked, CblasFixOffset, a->M, a->N, a->K, 1, a->A, a->lda, 0, p->packed, a->ldb, 0, 0, a->C,
                             a->ldc, &zero);
  return RIDGE_OK;
}

// Vector math: LA mode (errors below 4 ulp), its fastest that holds the bound.
static int peer_vml(const void *args, const ridge_ctx *ctx) {
  const ridge_elementwise_args *a = args;
  const MKL_INT64 mode = VML_LA | VML_ERRMODE_IGNORE;
  switch (a->op) {
  case RIDGE_EW_ADD: return vmsAdd(a->n, a->a, a->b, a->y, mode), RIDGE_OK;
  case RIDGE_EW_MULTIPLY: return vmsMul(a->n, a->a, a->b, a->y, mode), RIDGE_OK;
  case RIDGE_EW_EXP: return vmsExp(a->n, a->a, a->y, mode), RIDGE_OK;
  case RIDGE_EW_TANH: return vmsTanh(a->n, a->a, a->y, mode), RIDGE_OK;
  case RIDGE_EW_SIN: return vmsSin(a->n, a->a, a->y, mode), RIDGE_OK;
  case RIDGE_EW_COS: return vmsCos(a->n, a->a, a->y, mode), RIDGE_OK;
  }
  return RIDGE_E_ARG;
}

static const ridge_kernel table[] = {
    PEER_KERNEL("plain", "add multiply exp tanh sin cos", "fp32", "fp32", 0, peer_vml, NULL),
    PEER_KERNEL("plain", "gemm linear", "fp32", "fp32", 1, peer_sgemm, plain),
    PEER_KERNEL("plain", "gemm linear", "fp64", "fp64", 1, peer_dgemm, plain),
    PEER_KERNEL("plain", "gemm linear", "bf16", "fp32", 1, peer_bf16bf16f32_plain, single),
    PEER_KERNEL("plain", "gemm linear", "fp16", "fp32", 1, peer_f16f16f32_plain, single),
    PEER_KERNEL("plain", "gemm linear", "u8s8", "int32", 1, peer_u8s8, single),
    PEER_KERNEL("packed", "gemm linear", "fp32", "fp32", 1, peer_sgemm_packed, single),
    PEER_KERNEL("packed", "gemm linear", "fp64", "fp64", 1, peer_dgemm_packed, single),
    PEER_KERNEL("packed", "gemm linear", "bf16", "fp32", 1, peer_bf16bf16f32_packed, single),
    PEER_KERNEL("packed", "gemm linear", "fp16", "fp32", 1, peer_f16f16f32_packed, single),
    PEER_KERNEL("packed", "gemm linear", "u8s8", "int32", 1, peer_u8s8_packed, single),
    PEER_KERNEL("jit", "gemm linear", "fp32", "fp32", 1, peer_sgemm_jit, small),
    PEER_KERNEL("jit", "gemm linear", "fp64", "fp64", 1, peer_dgemm_jit, small),
    PEER_KERNEL("gemv", "gemm linear", "fp32", "fp32", 1, peer_sgemv, one_row),
    PEER_KERNEL("gemv", "gemm linear", "fp64", "fp64", 1, peer_dgemv, one_row),
};

const ridge_kernel *ridge_peer_table(int *n) { return *n = sizeof table / sizeof *table, table; }

const char *ridge_peer_version(void) {
  static char text[256];
  mkl_get_version_string(text, sizeof text);
  return text;
}

void ridge_peer_threads(int n, const int *cpus) {
  mkl_set_dynamic(0);
  mkl_set_num_threads(n);
  // The OpenMP runtime takes its CPUs from the thread that first uses it: this one, which may
  // run everywhere, and not the team's, which is pinned.
  enum { N = 512 };
  float *a = calloc(3 * N * N, sizeof *a);
  if (a) cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, a + N * N, N, 0, a + 2 * N * N, N);
  free(a);
}

void ridge_peer_refilled(void) {
  for (int i = 0; i < 8; i++) slots[i].fresh = 0;
}

static uint16_t fp16(float f) {
  _Float16 h = (_Float16)f;
  uint16_t u;
  memcpy(&u, &h, 2);
  return u;
}

void ridge_peer_finish(void) {
  for (int i = 0; i < 8; i++) {
    const prepared *p = &slots[i];
    if (!p->args || !p->c32) continue;
    const ridge_gemm_args *a = p->args;
    for (int64_t m = 0; m < a->M; m++)
      for (int64_t n = 0; n < a->N; n++) {
        float v = p->c32[m * a->N + n];
        ((uint16_t *)a->C)[m * a->ldc + n] = p->half ? peer_bf16(v) : fp16(v);
      }
  }
}

void ridge_peer_release(void) {
  for (int i = 0; i < 8; i++) {
    prepared *p = &slots[i];
    if (p->packed) mkl_free(p->packed);
    free(p->c32);
    if (p->jitter) mkl_jit_destroy(p->jitter);
    memset(p, 0, sizeof *p);
  }
}
