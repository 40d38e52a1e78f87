// What ridge uses of MKL's C interface with 32-bit integers (LP64): mkl_cblas.h and mkl_service.h of
// releases 2021 to 2026, in which these declarations are the same. libmkl_rt loads the threading
// layer that is set before the first call.
#ifndef RIDGE_MKL_H
#define RIDGE_MKL_H

#include <stddef.h>
#include <stdint.h>

#define MKL_FIRST 2021
#define MKL_LAST 2026

// The first fields of MKLVersion, and room for what a later release may add.
typedef union mkl_version {
  struct {
    int major, minor, update;
  } v;
  char room[1024];
} mkl_version;

enum { MKL_LP64 = 0 };                                              // MKL_INTERFACE_LP64
enum { MKL_ROW_MAJOR = 101, MKL_NO_TRANS = 111, MKL_TRANS = 112 }; // CBLAS
enum { MKL_PACKED = 151, MKL_B_MATRIX = 162 };                     // CBLAS_STORAGE, CBLAS_IDENTIFIER

// F(result, name in this file, exported name, arguments)
#define MKL_FUNCTIONS(F) \
  F(int, set_interface, "MKL_Set_Interface_Layer", (int)) \
  F(int, set_threading, "MKL_Set_Threading_Layer", (int)) \
  F(void, get_version, "MKL_Get_Version", (void *)) \
  F(void, set_dynamic, "MKL_Set_Dynamic", (int)) \
  F(void, set_num_threads, "MKL_Set_Num_Threads", (int)) \
  F(void, sgemm, "cblas_sgemm", \
    (int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc)) \
  F(void, sgemm_batch_strided, "cblas_sgemm_batch_strided", \
    (int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, int sa, const float *b, int ldb, int sb, float beta, float *c, int ldc, \
     int sc, int batch)) \
  F(size_t, sgemm_pack_get_size, "cblas_sgemm_pack_get_size", (int which, int m, int n, int k)) \
  F(void, sgemm_pack, "cblas_sgemm_pack", (int layout, int which, int trans, int m, int n, int k, float alpha, const float *src, int ld, float *dest)) \
  F(void, sgemm_compute, "cblas_sgemm_compute", \
    (int layout, int ta, int tb, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc))

#endif
