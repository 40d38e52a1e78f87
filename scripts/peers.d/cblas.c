// OpenBLAS and BLIS through CBLAS: plain row-major products; M = 1 also as a matrix-vector
// product; batches by ?gemm_batch_strided where the library has it, else one call a product. INT is the width of the interface; CBLAS(f) and BLAS(f) name its functions.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>

#include "peer.h"
#include "ridge_gemm.h"

#ifndef CBLAS
#define CBLAS(f) cblas_##f
#define BLAS(f) f
#endif

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

#define DECLARE(T, f, g) \
  void CBLAS(f)(int layout, int ta, int tb, INT m, INT n, INT k, T alpha, const T *a, INT lda, const T *b, INT ldb, T beta, T *c, INT ldc); \
  void CBLAS(f##_batch_strided)(int layout, int ta, int tb, INT m, INT n, INT k, T alpha, const T *a, INT lda, INT sa, const T *b, INT ldb, INT sb, T beta, \
                                T *c, INT ldc, INT sc, INT batch) __attribute__((weak)); \
  void CBLAS(g)(int layout, int t, INT m, INT n, T alpha, const T *a, INT lda, const T *x, INT incx, T beta, T *y, INT incy);
DECLARE(float, sgemm, sgemv)
DECLARE(double, dgemm, dgemv)

static int plain(const void *args) {
  const ridge_gemm_args *a = args;
  return !a->bias && !a->residual && a->act == RIDGE_ACT_NONE && a->beta == 0 && a->M > 0 && a->N > 0 && a->K > 0;
}

static int one_row(const void *args) { return plain(args) && ((const ridge_gemm_args *)args)->M == 1 && ((const ridge_gemm_args *)args)->batch <= 1; }

#define DEFINE(T, f, g) \
  static int peer_##f(const void *args, const ridge_ctx *ctx) { \
    const ridge_gemm_args *a = args; \
    const int tb = a->trans_b ? TRANS : NO_TRANS; \
    const int64_t batch = a->batch > 1 ? a->batch : 1; \
    if (batch > 1 && CBLAS(f##_batch_strided)) { \
      CBLAS(f##_batch_strided)(ROW_MAJOR, NO_TRANS, tb, a->M, a->N, a->K, (T)a->alpha, a->A, a->lda, a->stride_a, a->B, a->ldb, a->stride_b, 0, \
                               a->C, a->ldc, a->stride_c, batch); \
      return RIDGE_OK; \
    } \
    for (int64_t i = 0; i < batch; i++) \
      CBLAS(f)(ROW_MAJOR, NO_TRANS, tb, a->M, a->N, a->K, (T)a->alpha, (const T *)a->A + i * a->stride_a, a->lda, \
               (const T *)a->B + i * a->stride_b, a->ldb, 0, (T *)a->C + i * a->stride_c, a->ldc); \
    return RIDGE_OK; \
  } \
  static int peer_##g(const void *args, const ridge_ctx *ctx) { \
    const ridge_gemm_args *a = args; \
    if (a->trans_b) \
      CBLAS(g)(ROW_MAJOR, NO_TRANS, a->N, a->K, (T)a->alpha, a->B, a->ldb, a->A, 1, 0, a->C, 1); \
    else \
      CBLAS(g)(ROW_MAJOR, TRANS, a->K, a->N, (T)a->alpha, a->B, a->ldb, a->A, 1, 0, a->C, 1); \
    return RIDGE_OK; \
  }
DEFINE(float, sgemm, sgemv)
DEFINE(double, dgemm, dgemv)

static const ridge_kernel table[] = {
    PEER_KERNEL("plain", "gemm linear", "fp32", "fp32", 1, peer_sgemm, plain),
    PEER_KERNEL("plain", "gemm linear", "fp64", "fp64", 1, peer_dgemm, plain),
    PEER_KERNEL("gemv", "gemm linear", "fp32", "fp32", 1, peer_sgemv, one_row),
    PEER_KERNEL("gemv", "gemm linear", "fp64", "fp64", 1, peer_dgemv, one_row),
};

const ridge_kernel *ridge_peer_table(int *n) { return *n = sizeof table / sizeof *table, table; }

#if defined(PEER_OPENBLAS)
char *BLAS(openblas_get_config)(void);
char *BLAS(openblas_get_corename)(void);
void BLAS(openblas_set_num_threads)(int);
const char *ridge_peer_version(void) {
  static char text[256];
  snprintf(text, sizeof text, "%s, kernels for %s", BLAS(openblas_get_config)(), BLAS(openblas_get_corename)());
  return text;
}
#if defined(PEER_PTHREADS) // a pool of its own: thread 0 is the caller
int openblas_setaffinity(int, size_t, void *);
#endif
void ridge_peer_threads(int n, const int *cpus) {
  BLAS(openblas_set_num_threads)(n);
#if defined(PEER_PTHREADS)
  for (int i = 1; i < n; i++) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[i], &set);
    openblas_setaffinity(i - 1, sizeof set, &set);
  }
#endif
}
#elif defined(PEER_BLIS)
char *bli_info_get_version_str(void);
void bli_thread_set_num_threads(int64_t);
int bli_arch_query_id(void);
const char *bli_arch_string(int);
const char *ridge_peer_version(void) {
  static char text[256];
  snprintf(text, sizeof text, "BLIS %s, kernels for %s", bli_info_get_version_str(), bli_arch_string(bli_arch_query_id()));
  return text;
}
void ridge_peer_threads(int n, const int *cpus) { bli_thread_set_num_threads(n); }
#endif

void ridge_peer_refilled(void) {}
void ridge_peer_finish(void) {}
void ridge_peer_release(void) {}
