//go:build cuda && linux && cgo

#include "cudnn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../driver/driver.h"

enum { NCHW = 0, NHWC = 1, CROSS_CORRELATION = 1, TENSOR_OP_MATH = 1, FMA_MATH = 3, RELU = 1, IDENTITY = 5, PROPAGATE_NAN = 1,
       IMPLICIT_PRECOMP_GEMM = 1, MOST = 16 };

typedef struct { // cudnnConvolutionFwdAlgoPerf_t
  int algo, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
} choice_t;
_Static_assert(sizeof(choice_t) == 48, "as version 9 lays it out");

struct ridge_cudnn {
  size_t (*version)(void);
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, void *stream);
  int (*tensor_create)(void **desc);
  int (*tensor_set)(void *desc, int format, int type, int n, int c, int h, int w);
  int (*tensor_destroy)(void *desc);
  int (*filter_create)(void **desc);
  int (*filter_set)(void *desc, int type, int format, int k, int c, int h, int w);
  int (*filter_destroy)(void *desc);
  int (*conv_create)(void **desc);
  int (*conv_set)(void *desc, int pad_h, int pad_w, int u, int v, int dilation_h, int dilation_w, int mode, int compute);
  int (*conv_groups)(void *desc, int groups);
  int (*conv_math)(void *desc, int math);
  int (*conv_destroy)(void *desc);
  int (*act_create)(void **desc);
  int (*act_set)(void *desc, int mode, int nan, double coefficient);
  int (*act_destroy)(void *desc);
  int (*heuristic)(void *handle, void *x, void *w, void *conv, void *y, int most, int *found, choice_t *choices);
  int (*forward)(void *handle, const void *alpha, void *dx, const void *x, void *dw, const void *w, void *conv, int algo, void *workspace, size_t bytes,
                 const void *beta, void *dy, void *y);
  int (*add)(void *handle, const void *alpha, void *da, const void *a, const void *beta, void *dc, void *c);
  int (*fused)(void *handle, const void *alpha1, void *dx, const void *x, void *dw, const void *w, void *conv, int algo, void *workspace, size_t bytes,
               const void *alpha2, void *dz, const void *z, void *db, const void *bias, void *act, void *dy, void *y);
};

static const struct {
  const char *name;
  size_t at;
} symbols[] = {
#define S(field, name) {"cudnn" name, offsetof(struct ridge_cudnn, field)}
    S(version, "GetVersion"), S(create, "Create"), S(destroy, "Destroy"), S(set_stream, "SetStream"),
    S(tensor_create, "CreateTensorDescriptor"), S(tensor_set, "SetTensor4dDescriptor"), S(tensor_destroy, "DestroyTensorDescriptor"),
    S(filter_create, "CreateFilterDescriptor"), S(filter_set, "SetFilter4dDescriptor"), S(filter_destroy, "DestroyFilterDescriptor"),
    S(conv_create, "CreateConvolutionDescriptor"), S(conv_set, "SetConvolution2dDescriptor"), S(conv_groups, "SetConvolutionGroupCount"),
    S(conv_math, "SetConvolutionMathType"), S(conv_destroy, "DestroyConvolutionDescriptor"),
    S(act_create, "CreateActivationDescriptor"), S(act_set, "SetActivationDescriptor"), S(act_destroy, "DestroyActivationDescriptor"),
    S(heuristic, "GetConvolutionForwardAlgorithm_v7"), S(forward, "ConvolutionForward"), S(add, "AddTensor"), S(fused, "ConvolutionBiasActivationForward"),
#undef S
};

// cuDNN 9 says major·10000 + minor·100 + patch, 8 major·1000 + …: others have other numbers for a failure.
ridge_cudnn *ridge_cudnn_open(void *handle, char *text, size_t bytes) {
  ridge_cudnn *dnn = calloc(1, sizeof *dnn);
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *f = dlsym(handle, symbols[i].name);
    if (!f) {
      snprintf(text, bytes, "it has no function %s", symbols[i].name);
      return free(dnn), NULL;
    }
    memcpy((char *)dnn + symbols[i].at, &f, sizeof f);
  }
  const size_t v = dnn->version();
  if (v < 90000 || v >= 100000) {
    snprintf(text, bytes, "version number %zu: 9 is known", v);
    return free(dnn), NULL;
  }
  snprintf(text, bytes, "%zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
  return dnn;
}

void *ridge_cudnn_handle(const ridge_cudnn *dnn, char *text, size_t bytes) {
  void *handle = NULL;
  const int rc = dnn->create(&handle);
  if (rc) snprintf(text, bytes, "cudnnCreate: status %d", rc);
  return rc ? NULL : handle;
}

void ridge_cudnn_free(const ridge_cudnn *dnn, void *handle) { dnn->destroy(handle); }

struct ridge_conv {
  const ridge_cudnn *dnn;
  void *handle, *dx, *dw, *dy, *db, *conv, *act;
  ridge_convolution p;
  int algo;
};

static int describe(ridge_conv *c) {
  const ridge_cudnn *dnn = c->dnn;
  const ridge_convolution *p = &c->p;
  const int format = p->nhwc ? NHWC : NCHW;
  int rc = dnn->tensor_create(&c->dx);
  if (!rc) rc = dnn->tensor_create(&c->dy);
  if (!rc) rc = dnn->filter_create(&c->dw);
  if (!rc) rc = dnn->conv_create(&c->conv);
  if (!rc) rc = dnn->tensor_set(c->dx, format, p->type, p->n, p->c, p->h, p->w);
  if (!rc) rc = dnn->tensor_set(c->dy, format, p->type, p->n, p->k, p->ho, p->wo);
  if (!rc) rc = dnn->filter_set(c->dw, p->type, format, p->k, p->c / p->groups, p->r, p->s);
  if (!rc) rc = dnn->conv_set(c->conv, p->pad, p->pad, p->stride, p->stride, p->dilation, p->dilation, CROSS_CORRELATION, DNN_FLOAT);
  if (!rc) rc = dnn->conv_groups(c->conv, p->groups);
  if (!rc) rc = dnn->conv_math(c->conv, p->type == DNN_FLOAT ? FMA_MATH : TENSOR_OP_MATH); // of fp32 no tf32: it has other errors
  if (rc || !p->bias) return rc;
  if (!(rc = dnn->tensor_create(&c->db))) rc = dnn->tensor_set(c->db, format, p->type, 1, p->k, 1, 1);
  if (!rc) rc = dnn->act_create(&c->act);
  if (!rc) rc = dnn->act_set(c->act, p->relu ? RELU : IDENTITY, PROPAGATE_NAN, 0);
  return rc;
}

// usable: cuDNN's fused primitive without an activation takes one algorithm alone (API reference, cudnnConvolutionBiasActivationForward).
static int usable(const ridge_convolution *p, const choice_t *x) {
  if (x->status || x->memory > p->workspace_bytes || (p->type == DNN_FLOAT && x->math != FMA_MATH)) return 0;
  return !p->fused || p->relu || x->algo == IMPLICIT_PRECOMP_GEMM;
}

ridge_conv *ridge_conv_make(const ridge_cudnn *dnn, void *handle, const ridge_convolution *p, char *text, size_t bytes) {
  ridge_conv *c = calloc(1, sizeof *c);
  c->dnn = dnn, c->handle = handle, c->p = *p;
  choice_t choices[MOST] = {{0}};
  int found = 0, i = 0, rc = describe(c);
  if (rc) snprintf(text, bytes, "describe the convolution: status %d", rc);
  else if ((rc = dnn->heuristic(handle, c->dx, c->dw, c->conv, c->dy, MOST, &found, choices))) snprintf(text, bytes, "choose an algorithm: status %d", rc);
  while (!rc && i < found && !usable(p, &choices[i])) i++;
  if (!rc && i == found) rc = -1, snprintf(text, bytes, "it has no algorithm for the convolution");
  if (!rc && (rc = dnn->conv_math(c->conv, choices[i].math))) snprintf(text, bytes, "set the kind of arithmetic: status %d", rc);
  if (rc) return ridge_conv_free(c), NULL;
  c->algo = choices[i].algo;
  snprintf(text, bytes, "algorithm %d, math %d, workspace %zu", c->algo, choices[i].math, choices[i].memory);
  return c;
}

void ridge_conv_free(ridge_conv *c) {
  const ridge_cudnn *dnn = c->dnn;
  if (c->dx) dnn->tensor_destroy(c->dx);
  if (c->dy) dnn->tensor_destroy(c->dy);
  if (c->db) dnn->tensor_destroy(c->db);
  if (c->dw) dnn->filter_destroy(c->dw);
  if (c->conv) dnn->conv_destroy(c->conv);
  if (c->act) dnn->act_destroy(c->act);
  free(c);
}

static void *at(uint64_t address) { return (void *)(uintptr_t)address; }

int ridge_conv_call(void *conv, void *stream) {
  const ridge_conv *c = conv;
  const ridge_convolution *p = &c->p;
  const float one = 1, zero = 0;
  int rc = c->dnn->set_stream(c->handle, stream);
  if (!rc && p->fused)
    rc = c->dnn->fused(c->handle, &one, c->dx, at(p->x), c->dw, at(p->filter), c->conv, c->algo, at(p->workspace), p->workspace_bytes,
                       p->residual ? &one : &zero, c->dy, at(p->residual ? p->residual : p->y), c->db, at(p->bias), c->act, c->dy, at(p->y));
  else if (!rc)
    rc = c->dnn->forward(c->handle, &one, c->dx, at(p->x), c->dw, at(p->filter), c->conv, c->algo, at(p->workspace), p->workspace_bytes, &zero, c->dy, at(p->y));
  if (!rc && p->bias && !p->fused) rc = c->dnn->add(c->handle, &one, c->db, at(p->bias), &one, c->dy, at(p->y));
  return rc ? RIDGE_CALL_FAILED + rc : 0;
}
