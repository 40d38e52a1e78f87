// MKL's fp32 products as kernels of ridge's ops.
//
//   mkl_sgemm_fp32         C = alpha*A*op(B), B as it is stored                 gemm, linear
//   mkl_sgemm_packed_fp32  the same, B packed once (cblas_sgemm_pack, _compute)  linear
//
// Operands as in ridge_gemm.h. The weights are packed when inputs are filled, outside every timed
// window. There is no bf16: MKL gives its products in fp32 alone, and the conversion would be another stage.
#include "mkl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ridge_gemm.h"
#include "vendor.h"

#define POINTER(result, name, symbol, args) result(*name) args;
static struct {
  MKL_FUNCTIONS(POINTER)
} mkl;

#define NAME(result, name, symbol, args) symbol,
static const char *const names[] = {MKL_FUNCTIONS(NAME)};

int ridge_mkl_open(void *handle, int n, int layer, ridge_vendor_pool *pool, char *text, size_t bytes) {
  static int opened;
  const char *missing = ridge_vendor_symbols(handle, names, (void **)&mkl, sizeof names / sizeof *names);
  if (missing) return snprintf(text, bytes, "it is no MKL that ridge knows: it lacks %s", missing), -1;
  if (!opened) { // before every other call
    mkl.set_interface(MKL_LP64);
    mkl.set_threading(layer);
    opened = 1;
  }
  mkl_version v;
  memset(&v, 0, sizeof v);
  mkl.get_version(&v);
  if (v.v.major < MKL_FIRST || v.v.major > MKL_LAST)
    return snprintf(text, bytes, "it is MKL %d.%d.%d; ridge knows the interface of %d to %d", v.v.major, v.v.minor, v.v.update, MKL_FIRST, MKL_LAST), -1;
  mkl.set_dynamic(0);
  mkl.set_num_threads(n);
  float one[3] = {1, 1, 0}; // the first product loads the threading layer
  mkl.sgemm(MKL_ROW_MAJOR, MKL_NO_TRANS, MKL_NO_TRANS, 1, 1, 1, 1, one, 1, one + 1, 1, 0, one + 2, 1);
  const char *how = layer == RIDGE_MKL_INTEL ? "Intel OpenMP" : layer == RIDGE_MKL_GNU ? "GNU OpenMP" : "one thread";
  snprintf(text, bytes, "%d.%d.%d (%s)", v.v.major, v.v.minor, v.v.update, how);
  return 0;
}

static void release(void *p) { free(p); }

// Sizes and strides are 32-bit integers in this interface.
static int fits(const ridge_gemm_args *a) {
  const int64_t all[] = {a->M, a->N, a->K, a->lda, a->ldb, a->ldc, a->batch, a->stride_a, a->stride_b, a->stride_c};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] > INT_MAX) return 0;
  return a->M > 0 && a->N > 0 && a->K > 0;
}

static int plain(const void *args) {
  const ridge_gemm_args *a = args;
  return fits(a) && !a->bias && !a->residual && a->act == RIDGE_ACT_NONE && a->beta == 0;
}
static int single(const void *args) { return plain(args) && ((const ridge_gemm_args *)args)->batch <= 1; }

#define TRANSB(a) ((a)->trans_b ? MKL_TRANS : MKL_NO_TRANS)

static int sgemm(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *a = args;
  ridge_vendor_state *st = ctx->workspace;
  if (st->what == RIDGE_VENDOR_PREPARE) snprintf(st->text, sizeof st->text, "cblas_sgemm");
  if (st->what != RIDGE_VENDOR_RUN) return RIDGE_OK;
  if (a->batch > 1)
    mkl.sgemm_batch_strided(MKL_ROW_MAJOR, MKL_NO_TRANS, TRANSB(a), (int)a->M, (int)a->N, (int)a->K, (float)a->alpha, a->A, (int)a->lda, (int)a->stride_a, a->B,
                            (int)a->ldb, (int)a->stride_b, 0, a->C, (int)a->ldc, (int)a->stride_c, (int)a->batch);
  else
    mkl.sgemm(MKL_ROW_MAJOR, MKL_NO_TRANS, TRANSB(a), (int)a->M, (int)a->N, (int)a->K, (float)a->alpha, a->A, (int)a->lda, a->B, (int)a->ldb, 0, a->C, (int)a->ldc);
  return RIDGE_OK;
}

static int packed(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *a = args;
  ridge_vendor_state *st = ctx->workspace;
  switch (st->what) {
  case RIDGE_VENDOR_PREPARE: {
    size_t bytes = mkl.sgemm_pack_get_size(MKL_B_MATRIX, (int)a->M, (int)a->N, (int)a->K);
    snprintf(st->text, sizeof st->text, "cblas_sgemm_compute");
    st->release = release;
    if (!bytes || posix_memalign(&st->p, bytes < 1 << 21 ? 1 << 12 : 1 << 21, bytes)) {
      st->p = NULL;
      snprintf(st->text, sizeof st->text, "cblas_sgemm_pack_get_size: no memory of %zu bytes", bytes);
      return RIDGE_E_SYSTEM;
    }
    memset(st->p, 0xff, bytes); // the pages are touched
    return RIDGE_OK;
  }
  case RIDGE_VENDOR_REFILL:
    mkl.sgemm_pack(MKL_ROW_MAJOR, MKL_B_MATRIX, TRANSB(a), (int)a->M, (int)a->N, (int)a->K, (float)a->alpha, a->B, (int)a->ldb, st->p);
    return RIDGE_OK;
  }
  mkl.sgemm_compute(MKL_ROW_MAJOR, MKL_NO_TRANS, MKL_PACKED, (int)a->M, (int)a->N, (int)a->K, a->A, (int)a->lda, st->p, (int)a->ldb, 0, a->C, (int)a->ldc);
  return RIDGE_OK;
}

// c = 8: see onednn.c.
static const ridge_kernel table[] = {
    {"mkl_sgemm_fp32", "gemm linear", "fp32", "fp32", RIDGE_ISA_NONE, -1, 8, 1, sgemm, NULL, plain, 0, 0},
    {"mkl_sgemm_packed_fp32", "linear", "fp32", "fp32", RIDGE_ISA_NONE, -1, 8, 1, packed, NULL, single, 0, 0},
};

const ridge_kernel *ridge_mkl_table(int *n) { return *n = sizeof table / sizeof *table, table; }
