// oneDNN's matmul, convolution, softmax and layer norm, as kernels of ridge's ops.
//
//   onednn_matmul_D          C = A*op(B), B as it is stored                               gemm, linear
//   onednn_matmul_packed_D   the same, B reordered once into the library's format         linear
//   onednn_matmul_post_D     act(A*op(B) + bias) in one primitive with post-ops, B packed  linear
//   onednn_conv2d_packed_D   weights reordered once, images as they are stored            conv2d
//   onednn_conv2d_blocked_D  images too in the library's format, reordered at every call  conv2d
//   onednn_conv2d_post_D     act(conv + bias), weights packed, images as stored           conv2d
//   onednn_conv2d_postblocked_D  the same, images as in conv2d_blocked                    conv2d
//   onednn_softmax_D, onednn_layer_norm_fp32
//
// Operands as in ridge_gemm.h, ridge_conv.h and ridge_reduction.h. Weights are reordered when inputs are
// filled, outside every timed window, as an application does once for a model. Reference implementations
// are refused: the library falls back on them where it has no code for the chip, and a user would not stay with one.
#include "onednn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ridge_conv.h"
#include "ridge_gemm.h"
#include "ridge_reduction.h"
#include "vendor.h"

#define POINTER(result, name, args) result(*name) args;
static struct {
  ONEDNN_FUNCTIONS(POINTER)
} dnn;

#define NAME(result, name, args) "dnnl_" #name,
static const char *const names[] = {ONEDNN_FUNCTIONS(NAME)};
enum { FUNCTIONS = sizeof names / sizeof *names };

static void *engine, *stream;

// dnnl_status_t by name.
static const char *status(int s) {
  static const char *const text[] = {"success", "out_of_memory", "invalid_arguments", "unimplemented", "last_impl_reached", "runtime_error", "not_required"};
  return s >= 0 && s < 7 ? text[s] : "unknown";
}

int ridge_onednn_open(void *handle, int n, ridge_vendor_pool *pool, char *text, size_t bytes) {
  void *version = NULL;
  const char *first = "dnnl_version", *missing;
  if (ridge_vendor_symbols(handle, &first, &version, 1)) return snprintf(text, bytes, "it is no oneDNN: it lacks dnnl_version"), -1;
  const onednn_version *v = ((const onednn_version *(*)(void))version)();
  if (!v) return snprintf(text, bytes, "dnnl_version gives nothing"), -1;
  if (v->major != ONEDNN_MAJOR)
    return snprintf(text, bytes, "it is oneDNN %d.%d.%d; ridge speaks the interface of version %d", v->major, v->minor, v->patch, ONEDNN_MAJOR), -1;
  if ((missing = ridge_vendor_symbols(handle, names, (void **)&dnn, FUNCTIONS)))
    return snprintf(text, bytes, "oneDNN %d.%d.%d lacks %s", v->major, v->minor, v->patch, missing), -1;
  const char *how = "one thread";
  if (v->cpu_runtime == ONEDNN_RUNTIME_OMP) {
    if (ridge_vendor_runtime(handle, pool)) return snprintf(text, bytes, "oneDNN %d.%d.%d with OpenMP, but no OpenMP runtime is loaded with it", v->major, v->minor, v->patch), -1;
    how = "OpenMP";
  } else if (v->cpu_runtime != ONEDNN_RUNTIME_SEQ || n > 1) {
    return snprintf(text, bytes, "oneDNN %d.%d.%d is built with threading runtime %u; ridge needs OpenMP (%d), or none (%d) with --threads 1", v->major, v->minor,
                    v->patch, v->cpu_runtime, ONEDNN_RUNTIME_OMP, ONEDNN_RUNTIME_SEQ),
           -1;
  }
  int rc = engine ? ONEDNN_SUCCESS : dnn.engine_create(&engine, ONEDNN_CPU, 0);
  if (rc == ONEDNN_SUCCESS && !stream) rc = dnn.stream_create(&stream, engine, ONEDNN_STREAM_DEFAULT);
  if (rc) return snprintf(text, bytes, "oneDNN %d.%d.%d: engine or stream: %s (status %d)", v->major, v->minor, v->patch, status(rc), rc), -1;
  snprintf(text, bytes, "%d.%d.%d (%s)", v->major, v->minor, v->patch, how);
  return 0;
}

// How a kernel has its operands.
enum { PLAIN, PACKED, BLOCKED, POST };

// Where ridge has an operand, where the primitive wants it, and the reorder between them.
typedef struct operand {
  void *user, *lib; // memories; the same where no copy is needed
  void *reorder;
  void *copy;
  int out, weights;
} operand;

typedef struct prepared {
  void *prim;
  int n;
  onednn_arg exec[6];
  operand op[6];
} prepared;

static void release(void *p) {
  prepared *q = p;
  if (q->prim) dnn.primitive_destroy(q->prim);
  for (int i = 0; i < q->n; i++) {
    operand *o = &q->op[i];
    if (o->reorder) dnn.primitive_destroy(o->reorder);
    if (o->lib && o->lib != o->user) dnn.memory_destroy(o->lib);
    if (o->user) dnn.memory_destroy(o->user);
    free(o->copy);
  }
  free(q);
}

// One preparation: the first failure stays, and what was described is freed at the end.
typedef struct making {
  ridge_vendor_state *st;
  prepared *q;
  void *md[8];
  int nmd, failed;
} making;

static int check(making *m, int rc, const char *what) {
  if (rc && !m->failed) snprintf(m->st->text, sizeof m->st->text, "%s: %s (status %d)", what, status(rc), rc), m->failed = 1;
  return m->failed;
}

// A description with strides; NULL strides: the library chooses the format.
static void *describe(making *m, int n, const int64_t *dims, int type, const int64_t *strides) {
  void *md = NULL;
  if (m->failed) return NULL;
  int rc = strides ? dnn.memory_desc_create_with_strides(&md, n, dims, type, strides) : dnn.memory_desc_create_with_tag(&md, n, dims, type, ONEDNN_TAG_ANY);
  check(m, rc, "memory descriptor");
  return m->failed ? NULL : (m->md[m->nmd++] = md);
}

// Binds an argument: ridge's memory p as user describes it, the primitive's as want does.
static void operate(making *m, int arg, int out, const void *user, const void *want, const void *p) {
  if (m->failed) return;
  operand *o = &m->q->op[m->q->n];
  m->q->n++;
  o->out = out, o->weights = arg == ONEDNN_ARG_WEIGHTS;
  if (check(m, dnn.memory_create(&o->user, user, engine, (void *)p), "memory")) return;
  o->lib = o->user;
  if (!dnn.memory_desc_equal(user, want)) {
    size_t bytes = dnn.memory_desc_get_size(want);
    void *pd = NULL;
    o->lib = NULL;
    if (posix_memalign(&o->copy, bytes < 1 << 21 ? 1 << 12 : 1 << 21, bytes ? bytes : 1)) o->copy = NULL, check(m, 1, "memory of an operand in the library's format");
    if (m->failed) return;
    memset(o->copy, 0xff, bytes); // the pages are touched, and an element that is not written shows
    if (check(m, dnn.memory_create(&o->lib, want, engine, o->copy), "memory")) return;
    if (check(m, dnn.reorder_primitive_desc_create(&pd, out ? want : user, engine, out ? user : want, engine, NULL), "reorder")) return;
    check(m, dnn.primitive_create(&o->reorder, pd), "reorder");
    dnn.primitive_desc_destroy(pd);
  }
  m->q->exec[m->q->n - 1] = (onednn_arg){arg, o->lib};
}

// The primitive of pd, unless it is a reference implementation; pd is consumed by finish.
static void make(making *m, void *pd) {
  const char *impl = "";
  if (m->failed || check(m, dnn.primitive_desc_query(pd, ONEDNN_QUERY_IMPL, 0, &impl), "implementation's name")) return;
  snprintf(m->st->text, sizeof m->st->text, "%s", impl);
  if (strstr(impl, "ref")) {
    m->failed = 1;
    snprintf(m->st->text, sizeof m->st->text, "the library has only its reference implementation (%s) for this on this CPU", impl);
    return;
  }
  check(m, dnn.primitive_create(&m->q->prim, pd), "primitive");
}

static int finish(making *m, void *pd) {
  if (pd) dnn.primitive_desc_destroy(pd);
  for (int i = 0; i < m->nmd; i++) dnn.memory_desc_destroy(m->md[i]);
  m->st->p = m->q, m->st->release = release;
  return m->failed ? RIDGE_E_ARG : RIDGE_OK;
}

static int execute(ridge_vendor_state *st, const void *prim, int n, const onednn_arg *args) {
  int rc = dnn.primitive_execute(prim, stream, n, args);
  if (!rc) rc = dnn.stream_wait(stream);
  if (!rc) return RIDGE_OK;
  snprintf(st->text, sizeof st->text, "dnnl_primitive_execute: %s (status %d)", status(rc), rc);
  return RIDGE_VENDOR_E_CALL;
}

static int reorder(ridge_vendor_state *st, const operand *o) {
  onednn_arg a[2] = {{ONEDNN_ARG_FROM, o->out ? o->lib : o->user}, {ONEDNN_ARG_TO, o->out ? o->user : o->lib}};
  return execute(st, o->reorder, 2, a);
}

// Runs a prepared primitive, or packs its weights anew.
static int use(ridge_vendor_state *st) {
  prepared *q = st->p;
  int rc = RIDGE_OK;
  if (st->what == RIDGE_VENDOR_REFILL) {
    for (int i = 0; i < q->n && !rc; i++)
      if (q->op[i].reorder && q->op[i].weights) rc = reorder(st, &q->op[i]);
    return rc;
  }
  for (int i = 0; i < q->n && !rc; i++)
    if (q->op[i].reorder && !q->op[i].weights && !q->op[i].out) rc = reorder(st, &q->op[i]);
  if (!rc) rc = execute(st, q->prim, q->n, q->exec);
  for (int i = 0; i < q->n && !rc; i++)
    if (q->op[i].reorder && q->op[i].out) rc = reorder(st, &q->op[i]);
  return rc;
}

static int begin(making *m, const ridge_ctx *ctx) {
  m->st = ctx->workspace;
  if (!(m->q = calloc(1, sizeof *m->q))) return RIDGE_E_SYSTEM;
  m->st->p = m->q, m->st->release = release;
  return RIDGE_OK;
}

// Post-ops with an activation; NULL for none.
static void *activation(making *m, int act) {
  static const int algs[] = {[RIDGE_ACT_RELU] = ONEDNN_RELU, [RIDGE_ACT_GELU] = ONEDNN_GELU_ERF, [RIDGE_ACT_GELU_TANH] = ONEDNN_GELU_TANH, [RIDGE_ACT_SILU] = ONEDNN_SWISH};
  void *ops = NULL, *attr = NULL;
  if (act == RIDGE_ACT_NONE || check(m, dnn.post_ops_create(&ops), "post-ops")) return NULL;
  if (!check(m, dnn.post_ops_append_eltwise(ops, algs[act], act == RIDGE_ACT_SILU ? 1 : 0, 0), "post-op") &&
      !check(m, dnn.primitive_attr_create(&attr), "attributes"))
    check(m, dnn.primitive_attr_set_post_ops(attr, ops), "attributes");
  dnn.post_ops_destroy(ops);
  return attr;
}

#define MADE(pd, what) dnn.primitive_desc_query_md(pd, ONEDNN_QUERY_##what, 0)
#define STATE(ctx) ((ridge_vendor_state *)(ctx)->workspace)

static int matmul(const void *args, const ridge_ctx *ctx, int type, int how) {
  const ridge_gemm_args *a = args;
  if (STATE(ctx)->what != RIDGE_VENDOR_PREPARE) return use(STATE(ctx));
  making m = {0};
  if (begin(&m, ctx)) return RIDGE_E_SYSTEM;
  // A batch is a first dimension; without one the matrices begin behind it.
  const int n = a->batch > 1 ? 3 : 2, no = 3 - n;
  const int64_t da[] = {a->batch, a->M, a->K}, db[] = {a->batch, a->K, a->N}, dc[] = {a->batch, a->M, a->N}, dbias[] = {1, a->N}, sbias[] = {a->N, 1};
  const int64_t sa[] = {a->stride_a, a->lda, 1}, sc[] = {a->stride_c, a->ldc, 1};
  const int64_t sb[] = {a->stride_b, a->trans_b ? 1 : a->ldb, a->trans_b ? a->ldb : 1};
  void *ma = describe(&m, n, da + no, type, sa + no), *mb = describe(&m, n, db + no, type, sb + no), *mc = describe(&m, n, dc + no, type, sc + no);
  void *wb = how == PLAIN ? mb : describe(&m, n, db + no, type, NULL), *mbias = a->bias ? describe(&m, 2, dbias, type, sbias) : NULL;
  void *attr = activation(&m, a->act), *pd = NULL;
  if (!m.failed) check(&m, dnn.matmul_primitive_desc_create(&pd, engine, ma, wb, mbias, mc, attr), "matmul");
  if (attr) dnn.primitive_attr_destroy(attr);
  make(&m, pd);
  operate(&m, ONEDNN_ARG_SRC, 0, ma, ma, a->A);
  if (!m.failed) operate(&m, ONEDNN_ARG_WEIGHTS, 0, mb, MADE(pd, WEIGHTS), a->B);
  if (a->bias) operate(&m, ONEDNN_ARG_BIAS, 0, mbias, mbias, a->bias);
  operate(&m, ONEDNN_ARG_DST, 1, mc, mc, a->C);
  return finish(&m, pd);
}

// Row-major strides of dims.
static void dense(int n, const int64_t *dims, int64_t *strides) {
  strides[n - 1] = 1;
  for (int i = n - 2; i >= 0; i--) strides[i] = strides[i + 1] * dims[i + 1];
}

static int conv(const void *args, const ridge_ctx *ctx, int type, int how) {
  const ridge_conv_args *a = args;
  if (STATE(ctx)->what != RIDGE_VENDOR_PREPARE) return use(STATE(ctx));
  making m = {0};
  if (begin(&m, ctx)) return RIDGE_E_SYSTEM;
  const int64_t g = a->groups, cg = a->C / g, kg = a->K / g;
  const int64_t dx[] = {a->N, a->C, a->H, a->W}, dy[] = {a->N, a->K, a->Ho, a->Wo}, dw[] = {g, kg, cg, a->R, a->S}, dbias[] = {a->K}, one[] = {1};
  int64_t sx[4], sy[4], sw[5];
  dense(4, dx, sx), dense(4, dy, sy), dense(5, dw, sw);
  if (a->layout == 1) {
    const int64_t nx[] = {a->H * a->W * a->C, 1, a->W * a->C, a->C}, ny[] = {a->Ho * a->Wo * a->K, 1, a->Wo * a->K, a->K};
    const int64_t nw[] = {kg * a->R * a->S * cg, a->R * a->S * cg, 1, a->S * cg, cg};
    memcpy(sx, nx, sizeof nx), memcpy(sy, ny, sizeof ny), memcpy(sw, nw, sizeof nw);
  }
  const int grouped = g > 1, nw = 4 + grouped;
  const int64_t st[] = {a->stride_h, a->stride_w}, dil[] = {a->dil_h - 1, a->dil_w - 1}, pl[] = {a->pad_h, a->pad_w};
  const int64_t pr[] = {(a->Ho - 1) * a->stride_h + (a->R - 1) * a->dil_h + 1 - a->H - a->pad_h,
                        (a->Wo - 1) * a->stride_w + (a->S - 1) * a->dil_w + 1 - a->W - a->pad_w};
  void *mx = describe(&m, 4, dx, type, sx), *my = describe(&m, 4, dy, type, sy), *mw = describe(&m, nw, dw + !grouped, type, sw + !grouped);
  void *any = describe(&m, nw, dw + !grouped, type, NULL), *mbias = a->bias ? describe(&m, 1, dbias, type, one) : NULL;
  void *wx = how == BLOCKED ? describe(&m, 4, dx, type, NULL) : mx, *wy = how == BLOCKED ? describe(&m, 4, dy, type, NULL) : my;
  void *attr = activation(&m, a->act), *pd = NULL;
  if (!m.failed)
    check(&m, dnn.convolution_forward_primitive_desc_create(&pd, engine, ONEDNN_FORWARD_INFERENCE, ONEDNN_CONVOLUTION_DIRECT, wx, any, mbias, wy, st, dil, pl, pr, attr),
          "convolution");
  if (attr) dnn.primitive_attr_destroy(attr);
  make(&m, pd);
  if (!m.failed) operate(&m, ONEDNN_ARG_SRC, 0, mx, MADE(pd, SRC), a->x);
  if (!m.failed) operate(&m, ONEDNN_ARG_WEIGHTS, 0, mw, MADE(pd, WEIGHTS), a->w);
  if (a->bias) operate(&m, ONEDNN_ARG_BIAS, 0, mbias, mbias, a->bias);
  if (!m.failed) operate(&m, ONEDNN_ARG_DST, 1, my, MADE(pd, DST), a->y);
  return finish(&m, pd);
}

static int rows(const void *args, const ridge_ctx *ctx, int type, int norm) {
  const ridge_reduction_args *a = args;
  if (STATE(ctx)->what != RIDGE_VENDOR_PREPARE) return use(STATE(ctx));
  making m = {0};
  if (begin(&m, ctx)) return RIDGE_E_SYSTEM;
  const int64_t dims[] = {a->rows, a->cols}, strides[] = {a->cols, 1}, one[] = {1};
  void *mx = describe(&m, 2, dims, type, strides), *mg = norm ? describe(&m, 1, dims + 1, ONEDNN_F32, one) : NULL, *pd = NULL;
  if (!m.failed && norm)
    check(&m, dnn.layer_normalization_forward_primitive_desc_create(&pd, engine, ONEDNN_FORWARD_INFERENCE, mx, mx, NULL, (float)a->eps, ONEDNN_USE_SCALE | ONEDNN_USE_SHIFT, NULL),
          "layer norm");
  else if (!m.failed)
    check(&m, dnn.softmax_forward_primitive_desc_create(&pd, engine, ONEDNN_FORWARD_INFERENCE, ONEDNN_SOFTMAX_ACCURATE, mx, mx, a->dim, NULL), "softmax");
  make(&m, pd);
  operate(&m, ONEDNN_ARG_SRC, 0, mx, mx, a->x);
  if (norm) operate(&m, ONEDNN_ARG_SCALE, 0, mg, mg, a->gamma), operate(&m, ONEDNN_ARG_SHIFT, 0, mg, mg, a->beta);
  operate(&m, ONEDNN_ARG_DST, 1, mx, mx, a->y);
  return finish(&m, pd);
}

static int whole_gemm(const ridge_gemm_args *a) { return !a->residual && a->beta == 0 && a->alpha == 1 && a->M > 0 && a->N > 0 && a->K > 0; }
static int plain_gemm(const void *args) {
  const ridge_gemm_args *a = args;
  return whole_gemm(a) && !a->bias && a->act == RIDGE_ACT_NONE;
}
static int post_gemm(const void *args) {
  const ridge_gemm_args *a = args;
  return whole_gemm(a) && a->batch <= 1 && (a->bias || a->act != RIDGE_ACT_NONE);
}
static int whole_conv(const ridge_conv_args *a) { return !a->residual && !a->scale && a->N > 0 && a->C > 0 && a->K > 0 && a->Ho > 0 && a->Wo > 0; }
static int plain_conv(const void *args) {
  const ridge_conv_args *a = args;
  return whole_conv(a) && !a->bias && a->act == RIDGE_ACT_NONE;
}
// A convolution with a bias and no activation is what one primitive does with no post-op: it has
// a bias operand, so ridge counts it as a step of a chain.
static int biased_conv(const void *args) {
  const ridge_conv_args *a = args;
  return whole_conv(a) && a->act == RIDGE_ACT_NONE;
}
static int post_conv(const void *args) {
  const ridge_conv_args *a = args;
  return whole_conv(a) && !plain_conv(args);
}
static int some_rows(const void *args) {
  const ridge_reduction_args *a = args;
  return a->rows > 0 && a->cols > 0 && a->dim >= 0;
}

#define EACH(name, fn, type, how) \
  static int name(const void *args, const ridge_ctx *ctx) { return fn(args, ctx, type, how); }
#define BOTH(name, fn, how) EACH(name##_fp32, fn, ONEDNN_F32, how) EACH(name##_bf16, fn, ONEDNN_BF16, how)
BOTH(mm, matmul, PLAIN)
BOTH(mm_packed, matmul, PACKED)
BOTH(mm_post, matmul, POST)
BOTH(conv_packed, conv, PACKED)
BOTH(conv_blocked, conv, BLOCKED)
BOTH(conv_post, conv, POST)
BOTH(conv_postblocked, conv, BLOCKED)
BOTH(soft, rows, 0)
EACH(norm_fp32, rows, ONEDNN_F32, 1)

// Libraries round as ridge's kernels do: c = 8 leaves room for one accumulation chain
// (native/gemm: 5.1 in the worst of 10^6) and for another order of operations.
#define LINE(name, ops, dtype, exact, fn, sup) {"onednn_" name "_" dtype, ops, dtype, "fp32", RIDGE_ISA_NONE, -1, 8, exact, fn, NULL, sup, 0, 0}
#define LINES(name, ops, exact, fn, sup) LINE(name, ops, "fp32", exact, fn##_fp32, sup), LINE(name, ops, "bf16", exact, fn##_bf16, sup)
static const ridge_kernel table[] = {
    LINES("matmul", "gemm linear", 1, mm, plain_gemm),
    LINES("matmul_packed", "linear", 1, mm_packed, plain_gemm),
    LINES("matmul_post", "linear", 1, mm_post, post_gemm),
    LINES("conv2d_packed", "conv2d", 1, conv_packed, biased_conv),
    LINES("conv2d_blocked", "conv2d", 1, conv_blocked, biased_conv),
    LINES("conv2d_post", "conv2d", 1, conv_post, post_conv),
    LINES("conv2d_postblocked", "conv2d", 1, conv_postblocked, post_conv),
    LINES("softmax", "softmax", 0, soft, some_rows),
    LINE("layer_norm", "layer_norm", "fp32", 0, norm_fp32, some_rows),
};

const ridge_kernel *ridge_onednn_table(int *n) { return *n = sizeof table / sizeof *table, table; }
