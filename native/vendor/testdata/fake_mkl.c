// A stand-in for libmkl_rt in tests. MAJOR is what its version says; NO_SYMBOL leaves one out.
#include <stdlib.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 2025
#endif
static int interface = -1, layer = -1;
int MKL_Set_Interface_Layer(int code) { return interface = code; }
int MKL_Set_Threading_Layer(int code) { return layer = code; }
void MKL_Get_Version(int *v) {
  if (interface != 0 || layer < 0) abort(); // both come first
  v[0] = MAJOR, v[1] = 1, v[2] = 2;
}
void MKL_Set_Dynamic(int on) {}
#ifndef NO_SYMBOL
void MKL_Set_Num_Threads(int n) {}
#endif
void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int l = 0; l < k; l++) s += a[(size_t)i * lda + l] * (tb == 112 ? b[(size_t)j * ldb + l] : b[(size_t)l * ldb + j]);
      c[(size_t)i * ldc + j] = alpha * s;
    }
}
void cblas_sgemm_batch_strided(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, int sa, const float *b, int ldb, int sb, float beta,
                               float *c, int ldc, int sc, int batch) {
  for (int i = 0; i < batch; i++)
    cblas_sgemm(layout, ta, tb, m, n, k, alpha, a + (size_t)i * sa, lda, b + (size_t)i * sb, ldb, 0, c + (size_t)i * sc, ldc);
}
size_t cblas_sgemm_pack_get_size(int which, int m, int n, int k) { return (size_t)n * k * sizeof(float); }
void cblas_sgemm_pack(int layout, int which, int trans, int m, int n, int k, float alpha, const float *b, int ld, float *to) {
  for (int l = 0; l < k; l++)
    for (int j = 0; j < n; j++) to[(size_t)l * n + j] = alpha * (trans == 112 ? b[(size_t)j * ld + l] : b[(size_t)l * ld + j]);
}
void cblas_sgemm_compute(int layout, int ta, int tb, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc) {
  cblas_sgemm(layout, ta, 111, m, n, k, 1, a, lda, b, n, 0, c, ldc);
}
