// A libcudnn of the tests: it has the functions that ridge asks for, and calculates in double on the host when the stream of the tests' driver comes
// to it. RIDGE_FAKE_CUDNN is what it shall do in place of its work: none (no algorithm), large (each asks for more workspace than there is), fail (the
// call gives status 5000), wrong (one element is). FAKE_VERSION is the version number.
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION 90501
#endif

enum { FLOAT = 0, BFLOAT16 = 9, NHWC = 1 };

typedef struct {
  int format, type, n, c, h, w;
} tensor;
typedef struct {
  int pad, stride, dilation, groups, math;
} convolution;
typedef struct {
  int mode;
} activation;
typedef struct {
  void *stream;
} handle;
typedef struct {
  int algo, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
} choice;
_Static_assert(sizeof(choice) == 48, "cudnnConvolutionFwdAlgoPerf_t");

static int ordered(const char *word) {
  const char *s = getenv("RIDGE_FAKE_CUDNN");
  return s && !strcmp(s, word);
}

size_t cudnnGetVersion(void) { return FAKE_VERSION; }
int cudnnCreate(handle **h) { return *h = calloc(1, sizeof **h), 0; }
int cudnnDestroy(handle *h) { return free(h), 0; }
int cudnnSetStream(handle *h, void *s) { return h->stream = s, 0; }
#define MADE(name, type)                                                              \
  int cudnnCreate##name##Descriptor(type **d) { return *d = calloc(1, sizeof **d), 0; } \
  int cudnnDestroy##name##Descriptor(type *d) { return free(d), 0; }
MADE(Tensor, tensor)
MADE(Filter, tensor)
MADE(Convolution, convolution)
MADE(Activation, activation)
int cudnnSetTensor4dDescriptor(tensor *d, int format, int type, int n, int c, int h, int w) { return *d = (tensor){format, type, n, c, h, w}, 0; }
int cudnnSetFilter4dDescriptor(tensor *d, int type, int format, int n, int c, int h, int w) { return *d = (tensor){format, type, n, c, h, w}, 0; }
int cudnnSetConvolution2dDescriptor(convolution *d, int ph, int pw, int u, int v, int dh, int dw, int mode, int compute) {
  if (ph != pw || u != v || dh != dw || mode != 1 || compute != FLOAT) return 2000;
  return *d = (convolution){ph, u, dh, 1, 0}, 0;
}
int cudnnSetConvolutionGroupCount(convolution *d, int n) { return d->groups = n, 0; }
int cudnnSetConvolutionMathType(convolution *d, int math) { return d->math = math, 0; }
int cudnnSetActivationDescriptor(activation *d, int mode, int nan, double coefficient) { return (void)nan, (void)coefficient, d->mode = mode, 0; }

// The first choice has failed, the second is one of arithmetic that fp32 may not have, the third one that only relu takes.
int cudnnGetConvolutionForwardAlgorithm_v7(handle *h, tensor *x, tensor *w, convolution *c, tensor *y, int most, int *found, choice *to) {
  (void)h;
  if (most < 4 || x->c != w->c * c->groups || y->c != w->n) return 2000;
  const size_t memory = ordered("large") ? (size_t)1 << 40 : 64;
  to[0] = (choice){6, 3000, 0, 0, 1, c->math, {0}}, to[1] = (choice){7, 0, 0, memory, 1, 1, {0}};
  to[2] = (choice){0, 0, 0, memory, 1, x->type == FLOAT ? 3 : 1, {0}}, to[3] = (choice){1, 0, 0, memory, 1, x->type == FLOAT ? 3 : 1, {0}};
  return *found = ordered("none") ? 0 : 4, 0;
}

static int64_t at(const tensor *t, int64_t n, int64_t c, int64_t h, int64_t w) {
  return t->format == NHWC ? ((n * t->h + h) * t->w + w) * t->c + c : ((n * t->c + c) * t->h + h) * t->w + w;
}
static double get(int type, const void *p, int64_t i) {
  if (type == FLOAT) return ((const float *)p)[i];
  uint32_t u = (uint32_t)((const uint16_t *)p)[i] << 16;
  float f;
  return memcpy(&f, &u, 4), f;
}
static void set(int type, void *p, int64_t i, double v) {
  float f = (float)v;
  uint32_t u;
  memcpy(&u, &f, 4);
  if (type == FLOAT) ((float *)p)[i] = f;
  else ((uint16_t *)p)[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

typedef struct {
  tensor x, w, y;
  convolution c;
  const void *px, *pw, *pz, *pb;
  void *py;
  int relu;
} job;

static void (*written)(void *, size_t);

static void work(void *p) {
  const job *j = p;
  for (int n = 0; n < j->y.n; n++)
    for (int k = 0; k < j->y.c; k++)
      for (int h = 0; h < j->y.h; h++)
        for (int w = 0; w < j->y.w; w++) {
          const int group = k / (j->y.c / j->c.groups);
          double sum = 0;
          for (int c = 0; c < j->w.c; c++)
            for (int r = 0; r < j->w.h; r++)
              for (int s = 0; s < j->w.w; s++) {
                const int row = h * j->c.stride - j->c.pad + r * j->c.dilation, column = w * j->c.stride - j->c.pad + s * j->c.dilation;
                if (row < 0 || row >= j->x.h || column < 0 || column >= j->x.w) continue;
                sum += get(j->x.type, j->px, at(&j->x, n, group * j->w.c + c, row, column)) * get(j->w.type, j->pw, at(&j->w, k, c, r, s));
              }
          const int64_t to = at(&j->y, n, k, h, w);
          if (j->pz) sum += get(j->y.type, j->pz, to);
          if (j->pb) sum += get(j->y.type, j->pb, k);
          if (j->relu) sum = fmax(sum, 0);
          if (ordered("wrong") && !to) sum += 1000;
          set(j->y.type, j->py, to, sum);
        }
  written(j->py, (size_t)j->y.n * (size_t)j->y.c * (size_t)j->y.h * (size_t)j->y.w * (j->y.type == FLOAT ? 4 : 2));
}

static int enqueue(handle *h, job j) {
  if (ordered("fail")) return 5000;
  void *driver = dlopen(getenv("RIDGE_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  int (*host)(void *, void (*)(void *), void *) = (int (*)(void *, void (*)(void *), void *))dlsym(driver, "cuLaunchHostFunc");
  written = (void (*)(void *, size_t))dlsym(driver, "ridge_fake_written");
  job *kept = malloc(sizeof *kept); // never freed: graphs come back to it
  *kept = j;
  return host(h->stream, work, kept) ? 5000 : 0;
}

static int refused(const tensor *x, const convolution *c, int algo, const void *workspace, size_t bytes) {
  return (algo > 1 && x->type == FLOAT) || c->math != (x->type == FLOAT ? 3 : 1) || !workspace || bytes < 64;
}

int cudnnConvolutionForward(handle *h, const float *alpha, tensor *dx, const void *x, tensor *dw, const void *w, convolution *c, int algo, void *workspace, size_t bytes,
                            const float *beta, tensor *dy, void *y) {
  if (refused(dx, c, algo, workspace, bytes) || *alpha != 1 || *beta != 0) return 2000;
  return enqueue(h, (job){*dx, *dw, *dy, *c, x, w, NULL, NULL, y, 0});
}
int cudnnAddTensor(handle *h, const float *alpha, tensor *da, const void *a, const float *beta, tensor *dc, void *c) {
  if (da->c != dc->c || da->n != 1 || *alpha != 1 || *beta != 1) return 2000;
  return enqueue(h, (job){.x = *dc, .y = *dc, .pz = c, .pb = a, .py = c, .c = {.groups = 1, .stride = 1}});
}
int cudnnConvolutionBiasActivationForward(handle *h, const float *alpha1, tensor *dx, const void *x, tensor *dw, const void *w, convolution *c, int algo, void *workspace,
                                          size_t bytes, const float *alpha2, tensor *dz, const void *z, tensor *db, const void *bias, activation *a, tensor *dy, void *y) {
  if (refused(dx, c, algo, workspace, bytes) || *alpha1 != 1 || (a->mode == 5 && algo != 1) || db->c != dy->c || db->n != 1 || dz->c != dy->c) return 2000;
  return enqueue(h, (job){*dx, *dw, *dy, *c, x, w, *alpha2 != 0 ? z : NULL, bias, y, a->mode == 1});
}
