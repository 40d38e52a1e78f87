// A stand-in for libdnnl in tests: the functions that ridge uses, computed the slow and plain way,
// with a fault chosen by macro.
//   MAJOR, RUNTIME   what dnnl_version says
//   NO_SYMBOL        dnnl_stream_wait is missing
//   OPEN_CRASH, OPEN_HANG, ENGINE_STATUS=n
//   CRASH, HANG, STATUS=n, EXECUTE=n, WRONG, REFERENCE   in the primitives
//   SPIN             its threads never sleep
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 3
#endif
#ifndef RUNTIME
#define RUNTIME 2
#endif
#ifndef STATUS
#define STATUS 0
#endif
#ifndef ENGINE_STATUS
#define ENGINE_STATUS 0
#endif

enum { BF16 = 2, F32 = 3 };
typedef struct md { int n; int64_t dims[6], strides[6]; int type; } md;
typedef struct memory { md d; char *p; } memory;
typedef struct attr { int alg; } attr;
typedef struct primitive { int kind; md src, wei, dst; int64_t st[2], dil[2], pl[2]; int alg, axis; float eps; } primitive;
typedef struct arg { int arg; memory *m; } arg;

static const struct { int major, minor, patch; const char *hash; unsigned cpu, gpu; } version = {MAJOR, 7, 1, "fake", RUNTIME, 0};
const void *dnnl_version(void) { return &version; }

__attribute__((constructor)) static void opened(void) {
#ifdef OPEN_CRASH
  *(volatile int *)8 = 1;
#endif
#ifdef OPEN_HANG
  for (volatile int stay = 1; stay;) {
  }
#endif
}

int dnnl_engine_create(void **e, int kind, size_t i) { return *e = &opened, ENGINE_STATUS; }
int dnnl_stream_create(void **s, void *e, unsigned f) { return *s = &opened, 0; }
#ifndef NO_SYMBOL
int dnnl_stream_wait(void *s) { return 0; }
#endif

int dnnl_memory_desc_create_with_strides(void **o, int n, const int64_t *dims, int type, const int64_t *strides) {
  md *m = calloc(1, sizeof *m);
  m->n = n, m->type = type;
  memcpy(m->dims, dims, n * sizeof *dims), memcpy(m->strides, strides, n * sizeof *dims);
  return *o = m, 0;
}
// The library's own format: the first dimension contiguous.
int dnnl_memory_desc_create_with_tag(void **o, int n, const int64_t *dims, int type, int tag) {
  int64_t strides[6], s = 1;
  for (int i = 0; i < n; i++) strides[i] = s, s *= dims[i];
  return dnnl_memory_desc_create_with_strides(o, n, dims, type, strides);
}
int dnnl_memory_desc_destroy(void *m) { return free(m), 0; }
int dnnl_memory_desc_equal(const md *a, const md *b) {
  int same = a->n == b->n;
  for (int i = 0; same && i < a->n; i++) same = a->dims[i] == b->dims[i] && a->strides[i] == b->strides[i];
  return same;
}
size_t dnnl_memory_desc_get_size(const md *m) {
  size_t n = 1;
  for (int i = 0; i < m->n; i++) n *= m->dims[i];
  return n * (m->type == BF16 ? 2 : 4);
}
int dnnl_memory_create(void **o, const md *d, void *e, void *p) {
  memory *m = malloc(sizeof *m);
  m->d = *d, m->p = p;
  return *o = m, 0;
}
int dnnl_memory_destroy(void *m) { return free(m), 0; }
int dnnl_post_ops_create(void **o) { return *o = calloc(1, sizeof(attr)), 0; }
int dnnl_post_ops_append_eltwise(attr *o, int alg, float a, float b) { return o->alg = alg, 0; }
int dnnl_post_ops_destroy(void *o) { return free(o), 0; }
int dnnl_primitive_attr_create(void **o) { return *o = calloc(1, sizeof(attr)), 0; }
int dnnl_primitive_attr_set_post_ops(attr *a, const attr *o) { return a->alg = o->alg, 0; }
int dnnl_primitive_attr_destroy(void *a) { return free(a), 0; }

enum { MATMUL, CONV, SOFTMAX, NORM, REORDER };
static primitive *desc(void **o, int kind, const md *src, const md *wei, const md *dst, const attr *a) {
  primitive *p = calloc(1, sizeof *p);
  p->kind = kind, p->src = *src, p->dst = *dst, p->alg = a ? a->alg : 0;
  if (wei) p->wei = *wei;
  return *o = p;
}
int dnnl_matmul_primitive_desc_create(void **o, void *e, const md *s, const md *w, const md *b, const md *d, const attr *a) {
  if (STATUS) return STATUS;
  return desc(o, MATMUL, s, w, d, a), 0;
}
int dnnl_convolution_forward_primitive_desc_create(void **o, void *e, int prop, int alg, const md *s, const md *w, const md *b, const md *d, const int64_t *st,
                                                   const int64_t *dil, const int64_t *pl, const int64_t *pr, const attr *a) {
  if (STATUS) return STATUS;
  primitive *p = desc(o, CONV, s, w, d, a);
  memcpy(p->st, st, 16), memcpy(p->dil, dil, 16), memcpy(p->pl, pl, 16);
  return 0;
}
int dnnl_softmax_forward_primitive_desc_create(void **o, void *e, int prop, int alg, const md *s, const md *d, int axis, const attr *a) {
  return desc(o, SOFTMAX, s, NULL, d, a)->axis = axis, 0;
}
int dnnl_layer_normalization_forward_primitive_desc_create(void **o, void *e, int prop, const md *s, const md *d, const md *stat, float eps, unsigned f, const attr *a) {
  return desc(o, NORM, s, NULL, d, a)->eps = eps, 0;
}
int dnnl_reorder_primitive_desc_create(void **o, const md *s, void *e, const md *d, void *e2, const attr *a) { return desc(o, REORDER, s, NULL, d, a), 0; }
int dnnl_primitive_desc_query(const void *pd, int what, int i, void *r) {
#ifdef REFERENCE
  return *(const char **)r = "ref:any", 0;
#endif
  return *(const char **)r = "fake:slow", 0;
}
const void *dnnl_primitive_desc_query_md(const primitive *p, int what, int i) { return what == 129 ? &p->src : what == 131 ? &p->wei : &p->dst; }
int dnnl_primitive_desc_destroy(void *pd) { return free(pd), 0; }
int dnnl_primitive_create(void **o, const primitive *pd) {
  primitive *p = malloc(sizeof *p);
  *p = *pd;
  return *o = p, 0;
}
int dnnl_primitive_destroy(void *p) { return free(p), 0; }

static memory *of(int n, const arg *a, int which) {
  for (int i = 0; i < n; i++)
    if (a[i].arg == which) return a[i].m;
  return NULL;
}
static float get(const memory *m, int64_t at) {
  if (m->d.type == F32) return ((float *)m->p)[at];
  union { uint32_t u; float f; } v = {(uint32_t)((uint16_t *)m->p)[at] << 16};
  return v.f;
}
static void put(const memory *m, int64_t at, float f) {
  if (m->d.type == F32) {
    ((float *)m->p)[at] = f;
    return;
  }
  union { float f; uint32_t u; } v = {f};
  ((uint16_t *)m->p)[at] = (uint16_t)((v.u + 0x7fff + (v.u >> 16 & 1)) >> 16);
}
static float act(int alg, float x) {
  if (alg == 0x20) return x > 0 ? x : 0;
  if (alg == 0x31) return 0.5 * x * erfc(-x * M_SQRT1_2);
  if (alg == 0x2c) return x / (1 + exp(-x));
  return x;
}

static void matmul(const primitive *p, const memory *a, const memory *b, const memory *bias, const memory *c) {
  int o = c->d.n - 2;
  for (int64_t g = 0; g < (o ? c->d.dims[0] : 1); g++)
    for (int64_t i = 0; i < c->d.dims[o]; i++)
      for (int64_t j = 0; j < c->d.dims[o + 1]; j++) {
        float s = 0;
        for (int64_t k = 0; k < a->d.dims[o + 1]; k++)
          s += get(a, g * (o ? a->d.strides[0] : 0) + i * a->d.strides[o] + k * a->d.strides[o + 1]) *
               get(b, g * (o ? b->d.strides[0] : 0) + k * b->d.strides[o] + j * b->d.strides[o + 1]);
        if (bias) s += get(bias, j);
#ifdef WRONG
        if (i + j == 0) s += 1;
#endif
        put(c, g * (o ? c->d.strides[0] : 0) + i * c->d.strides[o] + j * c->d.strides[o + 1], act(p->alg, s));
      }
}
static void conv(const primitive *p, const memory *x, const memory *w, const memory *bias, const memory *y) {
  int o = w->d.n - 4; // 1 with groups
  int64_t kg = w->d.dims[o], cg = w->d.dims[o + 1];
  const int64_t *sx = x->d.strides, *sy = y->d.strides, *sw = w->d.strides + o;
  for (int64_t n = 0; n < y->d.dims[0]; n++)
    for (int64_t k = 0; k < y->d.dims[1]; k++)
      for (int64_t h = 0; h < y->d.dims[2]; h++)
        for (int64_t v = 0; v < y->d.dims[3]; v++) {
          float s = 0;
          int64_t g = k / kg;
          for (int64_t c = 0; c < cg; c++)
            for (int64_t r = 0; r < w->d.dims[o + 2]; r++)
              for (int64_t q = 0; q < w->d.dims[o + 3]; q++) {
                int64_t ih = h * p->st[0] - p->pl[0] + r * (p->dil[0] + 1), iw = v * p->st[1] - p->pl[1] + q * (p->dil[1] + 1);
                if (ih < 0 || iw < 0 || ih >= x->d.dims[2] || iw >= x->d.dims[3]) continue;
                s += get(x, n * sx[0] + (g * cg + c) * sx[1] + ih * sx[2] + iw * sx[3]) *
                     get(w, (o ? g * w->d.strides[0] : 0) + (k % kg) * sw[0] + c * sw[1] + r * sw[2] + q * sw[3]);
              }
          if (bias) s += get(bias, k);
          put(y, n * sy[0] + k * sy[1] + h * sy[2] + v * sy[3], act(p->alg, s));
        }
}
static void rows(const primitive *p, const memory *x, const memory *g, const memory *b, const memory *y) {
  int by = p->kind == SOFTMAX ? p->axis : 1;
  int64_t len = x->d.dims[by], outer = x->d.dims[1 - by], si = x->d.strides[by], so = x->d.strides[1 - by];
  for (int64_t i = 0; i < outer; i++) {
    double m = -INFINITY, sum = 0, sq = 0;
    for (int64_t j = 0; j < len; j++) m = fmax(m, get(x, i * so + j * si)), sum += get(x, i * so + j * si);
    double mean = sum / len, z = 0;
    for (int64_t j = 0; j < len; j++) sq += pow(get(x, i * so + j * si) - mean, 2), z += exp(get(x, i * so + j * si) - m);
    for (int64_t j = 0; j < len; j++) {
      double v = get(x, i * so + j * si);
      put(y, i * so + j * si, p->kind == SOFTMAX ? exp(v - m) / z : (v - mean) / sqrt(sq / len + p->eps) * get(g, j) + get(b, j));
    }
  }
}
static void reorder(const memory *a, const memory *b) {
  int64_t total = 1;
  for (int i = 0; i < a->d.n; i++) total *= a->d.dims[i];
  for (int64_t e = 0; e < total; e++) {
    int64_t rest = e, from = 0, to = 0;
    for (int i = a->d.n - 1; i >= 0; i--) from += rest % a->d.dims[i] * a->d.strides[i], to += rest % a->d.dims[i] * b->d.strides[i], rest /= a->d.dims[i];
    put(b, to, get(a, from));
  }
}

int dnnl_primitive_execute(const primitive *p, void *stream, int n, const arg *a) {
#ifdef CRASH
  if (p->kind != REORDER) *(volatile int *)8 = 1;
#endif
#ifdef EXECUTE
  if (p->kind != REORDER) return EXECUTE;
#endif
#ifdef HANG
  if (p->kind != REORDER)
    for (volatile int stay = 1; stay;) {
    }
#endif
  const memory *src = of(n, a, 1), *wei = of(n, a, 33), *bias = of(n, a, 41), *dst = of(n, a, 17);
  switch (p->kind) {
  case MATMUL: matmul(p, src, wei, bias, dst); break;
  case CONV: conv(p, src, wei, bias, dst); break;
  case SOFTMAX:
  case NORM: rows(p, src, of(n, a, 51), of(n, a, 52), dst); break;
  case REORDER: reorder(src, dst); break;
  }
  return 0;
}

// An OpenMP runtime of threads that live for one region.
#if RUNTIME == 2
static __thread int number;
static int asked = 1;
static pthread_barrier_t meet;
static volatile int finished;
static void (*body)(void *);
static void *data;
void omp_set_num_threads(int n) { asked = n; }
int omp_get_thread_num(void) { return number; }
int omp_get_num_threads(void) { return asked; }
void GOMP_barrier(void) { pthread_barrier_wait(&meet); }
static void *run(void *p) {
  number = (int)(intptr_t)p;
  body(data);
  __atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST);
#ifdef SPIN
  static int spins;
  if (!__atomic_exchange_n(&spins, 1, __ATOMIC_SEQ_CST))
    for (volatile int stay = 1; stay;) {
    }
#endif
  return NULL;
}
void GOMP_parallel(void (*fn)(void *), void *d, unsigned n, unsigned flags) {
  body = fn, data = d, finished = 0;
  pthread_barrier_init(&meet, NULL, n);
  for (unsigned i = 1; i < n; i++) {
    pthread_t t;
    if (pthread_create(&t, NULL, run, (void *)(intptr_t)i)) abort();
    pthread_detach(t);
  }
  number = 0;
  fn(d);
  while (__atomic_load_n(&finished, __ATOMIC_SEQ_CST) < (int)n - 1) {
  }
  pthread_barrier_destroy(&meet);
}
#endif
