//go:build cuda && linux && cgo

#include "cublaslt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../driver/driver.h"

// cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t, cublasLtMatmulPreferenceAttributes_t, cublasLtMatmulAlgoConfigAttributes_t.
enum { DESC_TRANSA = 3, DESC_TRANSB = 4, DESC_EPILOGUE = 7, DESC_BIAS_POINTER = 8, LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6, PREF_WORKSPACE = 1, PREF_REDUCTION = 3,
       ALGO_ID = 0, ALGO_TILE = 1, ALGO_SPLITS = 2 };
enum { NOT_SUPPORTED = 15 };
// cublasLtReductionScheme_t: parts of k are added as the sums are, not in the precision of C, in which 16 bits lose what the bounds ask for.
enum { REDUCTION_COMPUTE_TYPE = 2 };

typedef struct {
  uint64_t data[8];
} algo_t;
typedef struct { // cublasLtMatmulHeuristicResult_t
  algo_t algo;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} heuristic_t;
_Static_assert(sizeof(heuristic_t) == 96, "as versions 12 and 13 lay it out");

struct ridge_cublaslt {
  size_t (*version)(void);
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*desc_create)(void **desc, int compute, int scale);
  int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
  int (*desc_destroy)(void *desc);
  int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
  int (*layout_set)(void *layout, int attribute, const void *value, size_t bytes);
  int (*layout_destroy)(void *layout);
  int (*pref_create)(void **pref);
  int (*pref_set)(void *pref, int attribute, const void *value, size_t bytes);
  int (*pref_destroy)(void *pref);
  int (*heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *pref, int most, heuristic_t *results, int *found);
  int (*config)(const algo_t *algo, int attribute, void *value, size_t bytes, size_t *written);
  int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *la, const void *b, void *lb, const void *beta, const void *c,
                void *lc, void *d, void *ld, const algo_t *algo, void *workspace, size_t bytes, void *stream);
};

static const struct {
  const char *name;
  size_t at;
} symbols[] = {
#define S(field, name) {"cublasLt" name, offsetof(struct ridge_cublaslt, field)}
    S(version, "GetVersion"), S(create, "Create"), S(destroy, "Destroy"),
    S(desc_create, "MatmulDescCreate"), S(desc_set, "MatmulDescSetAttribute"), S(desc_destroy, "MatmulDescDestroy"),
    S(layout_create, "MatrixLayoutCreate"), S(layout_set, "MatrixLayoutSetAttribute"), S(layout_destroy, "MatrixLayoutDestroy"),
    S(pref_create, "MatmulPreferenceCreate"), S(pref_set, "MatmulPreferenceSetAttribute"), S(pref_destroy, "MatmulPreferenceDestroy"),
    S(heuristic, "MatmulAlgoGetHeuristic"), S(config, "MatmulAlgoConfigGetAttribute"), S(matmul, "Matmul"),
#undef S
};

// cuBLAS 12 says major·10000 + minor·100 + patch; so does 13. Others have other structures.
ridge_cublaslt *ridge_cublaslt_open(void *handle, char *text, size_t bytes) {
  ridge_cublaslt *lt = calloc(1, sizeof *lt);
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *f = dlsym(handle, symbols[i].name);
    if (!f) {
      snprintf(text, bytes, "it has no function %s", symbols[i].name);
      return free(lt), NULL;
    }
    memcpy((char *)lt + symbols[i].at, &f, sizeof f);
  }
  const size_t v = lt->version();
  if (v < 120000 || v >= 140000) {
    snprintf(text, bytes, "version number %zu: 12 and 13 are known", v);
    return free(lt), NULL;
  }
  snprintf(text, bytes, "%zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
  return lt;
}

void *ridge_cublaslt_handle(const ridge_cublaslt *lt, char *text, size_t bytes) {
  void *handle = NULL;
  const int rc = lt->create(&handle);
  if (rc) snprintf(text, bytes, "cublasLtCreate: status %d", rc);
  return rc ? NULL : handle;
}

void ridge_cublaslt_free(const ridge_cublaslt *lt, void *handle) { lt->destroy(handle); }

union scalar {
  float f;
  double d;
  int32_t i;
};

struct ridge_matmul {
  const ridge_cublaslt *lt;
  void *handle, *desc, *a, *b, *c, *d; // layouts of what the library calls so
  ridge_product p;
  algo_t algo;
  union scalar alpha, beta;
};

static union scalar scalar(int type, double v) {
  union scalar s = {0};
  if (type == LT_R_64F) s.d = v;
  else if (type == LT_R_32I) s.i = (int32_t)v;
  else s.f = (float)v;
  return s;
}

static int layout(const ridge_cublaslt *lt, void **l, int type, int64_t rows, int64_t cols, int64_t ld, int64_t batch, int64_t stride) {
  int rc = lt->layout_create(l, type, (uint64_t)rows, (uint64_t)cols, ld);
  if (rc || batch == 1) return rc;
  const int32_t n = (int32_t)batch;
  if ((rc = lt->layout_set(*l, LAYOUT_BATCH, &n, sizeof n))) return rc;
  return lt->layout_set(*l, LAYOUT_STRIDE, &stride, sizeof stride);
}

// The library's matrices are column-major: it is asked for Cᵀ = op(B)ᵀ·Aᵀ, whose bias of N goes down its columns.
static int describe(ridge_matmul *m) {
  const ridge_cublaslt *lt = m->lt;
  const ridge_product *p = &m->p;
  const int32_t ta = p->transposed ? LT_OP_T : LT_OP_N, tb = LT_OP_N;
  const uint32_t epilogue = (uint32_t)p->epilogue;
  int rc = lt->desc_create(&m->desc, p->compute, p->scale);
  if (!rc) rc = lt->desc_set(m->desc, DESC_TRANSA, &ta, sizeof ta);
  if (!rc) rc = lt->desc_set(m->desc, DESC_TRANSB, &tb, sizeof tb);
  if (!rc) rc = lt->desc_set(m->desc, DESC_EPILOGUE, &epilogue, sizeof epilogue);
  if (!rc && p->bias) rc = lt->desc_set(m->desc, DESC_BIAS_POINTER, &p->bias, sizeof p->bias);
  if (!rc) rc = layout(lt, &m->a, p->a_type, p->transposed ? p->k : p->n, p->transposed ? p->n : p->k, p->ldb, p->batch, p->stride_b);
  if (!rc) rc = layout(lt, &m->b, p->a_type, p->k, p->m, p->lda, p->batch, p->stride_a);
  if (!rc) rc = layout(lt, &m->c, p->c_type, p->n, p->m, p->d ? p->ldd : p->ldc, p->batch, p->d ? p->stride_d : p->stride_c);
  if (!rc) rc = layout(lt, &m->d, p->c_type, p->n, p->m, p->ldc, p->batch, p->stride_c);
  return rc;
}

ridge_matmul *ridge_matmul_make(const ridge_cublaslt *lt, void *handle, const ridge_product *p, char *text, size_t bytes) {
  ridge_matmul *m = calloc(1, sizeof *m);
  m->lt = lt, m->handle = handle, m->p = *p;
  m->alpha = scalar(p->scale, p->alpha), m->beta = scalar(p->scale, p->beta);
  void *pref = NULL;
  heuristic_t best = {0};
  int found = 0, rc = describe(m);
  const char *doing = "describe the product";
  if (!rc) rc = lt->pref_create(&pref);
  if (!rc) rc = lt->pref_set(pref, PREF_WORKSPACE, &p->workspace_bytes, sizeof p->workspace_bytes);
  const uint32_t reduction = REDUCTION_COMPUTE_TYPE;
  if (!rc) rc = lt->pref_set(pref, PREF_REDUCTION, &reduction, sizeof reduction);
  if (!rc) doing = "choose an algorithm", rc = lt->heuristic(handle, m->desc, m->a, m->b, m->c, m->d, pref, 1, &best, &found);
  if (!rc && (!found || best.state)) rc = found ? best.state : NOT_SUPPORTED;
  if (pref) lt->pref_destroy(pref);
  if (rc) {
    snprintf(text, bytes, rc == NOT_SUPPORTED ? "it has no algorithm for the product" : "%s: status %d", doing, rc);
    ridge_matmul_free(m);
    return NULL;
  }
  m->algo = best.algo;
  int32_t id = -1, splits = 1;
  uint32_t tile = 0;
  size_t written;
  lt->config(&m->algo, ALGO_ID, &id, sizeof id, &written); // a library that does not say it is no reason to do without
  lt->config(&m->algo, ALGO_TILE, &tile, sizeof tile, &written);
  lt->config(&m->algo, ALGO_SPLITS, &splits, sizeof splits, &written);
  snprintf(text, bytes, "algorithm %d, tile %u, k in %d", id, tile, splits > 1 ? splits : 1);
  return m;
}

void ridge_matmul_free(ridge_matmul *m) {
  void *layouts[] = {m->a, m->b, m->c, m->d};
  for (int i = 0; i < 4; i++)
    if (layouts[i]) m->lt->layout_destroy(layouts[i]);
  if (m->desc) m->lt->desc_destroy(m->desc);
  free(m);
}

static void *at(uint64_t address) { return (void *)(uintptr_t)address; }

int ridge_matmul_call(void *matmul, void *stream) {
  const ridge_matmul *m = matmul;
  const ridge_product *p = &m->p;
  const int rc = m->lt->matmul(m->handle, m->desc, &m->alpha, at(p->b), m->a, at(p->a), m->b, &m->beta, at(p->d ? p->d : p->c), m->c, at(p->c), m->d,
                               &m->algo, at(p->workspace), p->workspace_bytes, stream);
  return rc ? RIDGE_CALL_FAILED + rc : 0;
}
