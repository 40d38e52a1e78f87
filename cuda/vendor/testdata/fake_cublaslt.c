// A libcublasLt of the tests: it has the functions that ridge asks for, and calculates in double on the host when the stream of the tests' driver
// comes to it. RIDGE_FAKE_CUBLASLT is what it shall do in place of its work: none (no algorithm), fail (the call gives status 14), wrong (one
// element is), abort (ends the process in the call). FAKE_VERSION is the version number.
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION 130102
#endif

enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28 };

typedef struct {
  int type;
  uint64_t rows, cols;
  int64_t ld, stride;
  int32_t batch;
} layout;
typedef struct {
  int compute, scale;
  int32_t ta, tb;
  uint32_t epilogue;
  const void *bias;
} desc;

static int ordered(const char *word) {
  const char *s = getenv("RIDGE_FAKE_CUBLASLT");
  return s && !strcmp(s, word);
}

size_t cublasLtGetVersion(void) { return FAKE_VERSION; }
int cublasLtCreate(void **h) { return *h = malloc(1), 0; }
int cublasLtDestroy(void *h) { return free(h), 0; }
int cublasLtMatmulDescCreate(desc **d, int compute, int scale) {
  *d = calloc(1, sizeof **d);
  (*d)->compute = compute, (*d)->scale = scale, (*d)->epilogue = 1;
  return 0;
}
int cublasLtMatmulDescDestroy(desc *d) { return free(d), 0; }
int cublasLtMatmulDescSetAttribute(desc *d, int attribute, const void *v, size_t n) {
  void *to = attribute == 3 ? (void *)&d->ta : attribute == 4 ? (void *)&d->tb : attribute == 7 ? (void *)&d->epilogue : attribute == 8 ? (void *)&d->bias : NULL;
  if (!to || n != (attribute == 8 ? 8 : 4)) return 7;
  return memcpy(to, v, n), 0;
}
int cublasLtMatrixLayoutCreate(layout **l, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  if (ld < (int64_t)rows) return 7;
  *l = calloc(1, sizeof **l);
  **l = (layout){type, rows, cols, ld, 0, 1};
  return 0;
}
int cublasLtMatrixLayoutDestroy(layout *l) { return free(l), 0; }
int cublasLtMatrixLayoutSetAttribute(layout *l, int attribute, const void *v, size_t n) {
  if (attribute == 5 && n == 4) return memcpy(&l->batch, v, n), 0;
  if (attribute == 6 && n == 8) return memcpy(&l->stride, v, n), 0;
  return 7;
}
int cublasLtMatmulPreferenceCreate(uint64_t **p) { return *p = calloc(2, 8), 0; } // workspace, reduction schemes
int cublasLtMatmulPreferenceDestroy(uint64_t *p) { return free(p), 0; }
int cublasLtMatmulPreferenceSetAttribute(uint64_t *p, int attribute, const void *v, size_t n) {
  if (attribute == 3 && n == 4) return memcpy(p + 1, v, n), 0;
  if (attribute != 1 || n != 8) return 7;
  return memcpy(p, v, n), 0;
}

typedef struct {
  uint64_t algo[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} result;
_Static_assert(sizeof(result) == 96, "cublasLtMatmulHeuristicResult_t");

int cublasLtMatmulAlgoGetHeuristic(void *h, desc *d, layout *a, layout *b, layout *c, layout *o, uint64_t *pref, int most, result *r, int *found) {
  (void)h, (void)b, (void)c, (void)o;
  *found = 0;
  if (ordered("none") || most < 1 || pref[0] < 1024) return 15;
  if (pref[1] != 2) return 7; // sums that C rounds
  if (d->epilogue & 4 && !d->bias) return 7;
  if (a->type == R_8I && (a->ld % 4 || !d->ta)) return 15;       // bytes along k alone, in words
  if (a->type == R_8F_E4M3 && (a->ld % 16 || !d->ta)) return 15; // the same, in 16 bytes
  memset(r, 0, sizeof *r);
  r->algo[0] = 66, r->workspace = 1024;
  return *found = 1, 0;
}
int cublasLtMatmulAlgoConfigGetAttribute(const uint64_t *algo, int attribute, void *v, size_t n, size_t *written) {
  const int32_t x = attribute == 0 ? (int32_t)algo[0] : attribute == 1 ? 20 : 1;
  if (n != 4) return 7;
  return *written = 4, memcpy(v, &x, 4), 0;
}

static float bits(uint32_t u) {
  float f;
  return memcpy(&f, &u, 4), f;
}
static double half(uint16_t h) {
  const int e = h >> 10 & 31, m = h & 1023;
  const double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h >> 15 ? -v : v;
}
static double e4m3(uint8_t h) {
  const int e = h >> 3 & 15, m = h & 7;
  const double v = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
  return h >> 7 ? -v : v;
}
static double get(int type, const void *p, int64_t i) {
  switch (type) {
  case R_64F: return ((const double *)p)[i];
  case R_16F: return half(((const uint16_t *)p)[i]);
  case R_16BF: return bits((uint32_t)((const uint16_t *)p)[i] << 16);
  case R_8I: return ((const int8_t *)p)[i];
  case R_32I: return ((const int32_t *)p)[i];
  case R_8F_E4M3: return e4m3(((const uint8_t *)p)[i]);
  }
  return ((const float *)p)[i];
}
static uint16_t to_half(double v) { // to nearest, ties to even
  const uint16_t sign = signbit(v) ? 0x8000 : 0;
  v = fabs(v);
  if (v == 0) return sign;
  int e;
  frexp(v, &e);
  e = e < -13 ? -13 : e;
  const double m = nearbyint(ldexp(v, 11 - e)); // in units of the last place
  return (uint16_t)(sign + (m >= 1024 ? ((e + 13) << 10) + (uint16_t)m : (uint16_t)m));
}
static void set(int type, void *p, int64_t i, double v) {
  if (type == R_64F) ((double *)p)[i] = v;
  else if (type == R_16F) ((uint16_t *)p)[i] = to_half(v);
  else if (type == R_32I) ((int32_t *)p)[i] = (int32_t)(int64_t)v;
  else if (type == R_16BF) {
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    ((uint16_t *)p)[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
  } else ((float *)p)[i] = (float)v;
}

typedef struct {
  desc d;
  layout a, b, c, o;
  const void *pa, *pb, *pc;
  void *po;
  double alpha, beta;
} job;

static void (*written)(void *, size_t);

static size_t size_of(int type) { return type == R_64F ? 8 : type == R_16F || type == R_16BF ? 2 : 4; }

static double rounded(const job *j, double v) { // tf32: 10 bits of fraction
  if (j->d.compute != 77) return v;
  uint32_t u;
  float f = (float)v;
  memcpy(&u, &f, 4);
  return bits((u + 0xfff + (u >> 13 & 1)) & ~0x1fffu);
}

static void work(void *p) {
  const job *j = p;
  for (int64_t z = 0; z < j->o.batch; z++)
    for (uint64_t col = 0; col < j->o.cols; col++) {
      for (uint64_t row = 0; row < j->o.rows; row++) {
        const uint64_t k = j->d.tb ? j->b.cols : j->b.rows;
        double sum = 0;
        for (uint64_t i = 0; i < k; i++)
          sum += rounded(j, get(j->a.type, j->pa, z * j->a.stride + (int64_t)(j->d.ta ? row * (uint64_t)j->a.ld + i : i * (uint64_t)j->a.ld + row))) *
                 rounded(j, get(j->b.type, j->pb, z * j->b.stride + (int64_t)(j->d.tb ? i * (uint64_t)j->b.ld + col : col * (uint64_t)j->b.ld + i)));
        sum *= j->alpha;
        if (j->beta != 0) sum += j->beta * get(j->c.type, j->pc, z * j->c.stride + (int64_t)col * j->c.ld + (int64_t)row);
        if (j->d.epilogue & 4) sum += get(j->o.type, j->d.bias, (int64_t)row);
        if (j->d.epilogue & 2) sum = fmax(sum, 0);
        if (j->d.epilogue & 32) sum = sum / (1 + exp(-2 * 0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
        if (ordered("wrong") && !z && !col && !row) sum += 1000;
        set(j->o.type, j->po, z * j->o.stride + (int64_t)col * j->o.ld + (int64_t)row, sum);
      }
      written((char *)j->po + (size_t)(z * j->o.stride + (int64_t)col * j->o.ld) * size_of(j->o.type), j->o.rows * size_of(j->o.type));
    }
}

static double scalar(int type, const void *v) { return type == R_64F ? *(const double *)v : type == R_32I ? *(const int32_t *)v : *(const float *)v; }

int cublasLtMatmul(void *h, desc *d, const void *alpha, const void *a, layout *la, const void *b, layout *lb, const void *beta, const void *c, layout *lc, void *o,
                   layout *lo, const uint64_t *algo, void *workspace, size_t bytes, void *stream) {
  if (ordered("abort")) abort();
  if (ordered("fail")) return 14;
  if (!h || algo[0] != 66 || !workspace || bytes < 1024) return 7;
  void *driver = dlopen(getenv("RIDGE_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  int (*host)(void *, void (*)(void *), void *) = (int (*)(void *, void (*)(void *), void *))dlsym(driver, "cuLaunchHostFunc");
  written = (void (*)(void *, size_t))dlsym(driver, "ridge_fake_written");
  job *j = malloc(sizeof *j); // never freed: graphs come back to it
  *j = (job){*d, *la, *lb, *lc, *lo, a, b, c, o, scalar(d->scale, alpha), scalar(d->scale, beta)};
  return host(stream, work, j) ? 13 : 0;
}
