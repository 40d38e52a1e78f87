// oneDNN: matmul with B as stored ("plain") and in the format that the library asks for,
// reordered beforehand ("packed"); conv2d with weights reordered beforehand and images as
// stored ("packed") or everything in the library's own format ("blocked": the images are
// reordered outside the timing, as inside a network). From version 3 on convolutions of int8, requantised
// by a scale for each output channel of the weights, which the library rounds as ridge_conv.h does; and also elementwise
// functions, sums, softmax and layer norm. Reference implementations are refused: they are
// what the library falls back on where it has no code for the chip.
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>

#include "peer.h"
#include "ridge_conv.h"
#include "ridge_elementwise.h"
#include "ridge_gemm.h"
#include "ridge_reduction.h"

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t md_t;
typedef const_dnnl_memory_desc_t cmd_t;
#else
typedef dnnl_memory_desc_t *md_t;
typedef const dnnl_memory_desc_t *cmd_t;
#endif

#define TRY(call) \
  if ((call) != dnnl_success) return RIDGE_E_ARG

// An operand: where ridge has it, where the primitive wants it, and the reorder between them.
typedef struct operand {
  dnnl_memory_t user, lib;
  dnnl_primitive_t reorder; // NULL: lib is user
  void *mem;                // of lib when it is a copy
  size_t bytes;
  int out;
} operand;

typedef struct prepared {
  const void *args;
  dnnl_primitive_t prim;
  int n, fresh, ready;
  dnnl_exec_arg_t exec[6];
  operand op[6];
} prepared;

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static prepared slots[8];
static char path[160];

const char *ridge_peer_path(void) { return path; }

static int start(void) {
  if (engine) return RIDGE_OK;
  TRY(dnnl_engine_create(&engine, dnnl_cpu, 0));
  TRY(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
  return RIDGE_OK;
}

static prepared *slot(const void *args) {
  for (int i = 0; i < 8; i++) {
    if (slots[i].args == args) return &slots[i];
    if (!slots[i].args) return slots[i].args = args, &slots[i];
  }
  return NULL;
}

// A description with explicit strides; strides NULL: the library chooses the format.
static md_t describe(int n, const dnnl_dims_t dims, dnnl_data_type_t t, const dnnl_dims_t strides) {
#if DNNL_VERSION_MAJOR >= 3
  md_t m = NULL;
  if (strides) return dnnl_memory_desc_create_with_strides(&m, n, dims, t, strides) == dnnl_success ? m : NULL;
  return dnnl_memory_desc_create_with_tag(&m, n, dims, t, dnnl_format_tag_any) == dnnl_success ? m : NULL;
#else
  md_t m = calloc(1, sizeof *m);
  if (strides) return dnnl_memory_desc_init_by_strides(m, n, dims, t, strides) == dnnl_success ? m : NULL;
  return dnnl_memory_desc_init_by_tag(m, n, dims, t, dnnl_format_tag_any) == dnnl_success ? m : NULL;
#endif
}

// Row-major strides of dims.
static void dense(int n, const dnnl_dims_t dims, dnnl_dims_t strides) {
  strides[n - 1] = 1;
  for (int i = n - 2; i >= 0; i--) strides[i] = strides[i + 1] * dims[i + 1];
}

// Binds argument arg of the primitive: user's memory p in format user, the primitive's in want.
static int operate(prepared *q, int arg, int out, cmd_t user, cmd_t want, const void *p) {
  operand *o = &q->op[q->n];
  o->out = out;
  TRY(dnnl_memory_create(&o->user, user, engine, (void *)p));
  o->lib = o->user;
  if (!dnnl_memory_desc_equal(user, want)) {
    o->bytes = dnnl_memory_desc_get_size(want);
    if (!(o->mem = peer_alloc(o->bytes))) return RIDGE_E_SYSTEM;
    memset(o->mem, 0xff, o->bytes);
    TRY(dnnl_memory_create(&o->lib, want, engine, o->mem));
    dnnl_primitive_desc_t pd;
    TRY(dnnl_reorder_primitive_desc_create(&pd, out ? want : user, engine, out ? user : want, engine, NULL));
    TRY(dnnl_primitive_create(&o->reorder, pd));
    dnnl_primitive_desc_destroy(pd);
  }
  q->exec[q->n++] = (dnnl_exec_arg_t){arg, o->lib};
  return RIDGE_OK;
}

static int make(prepared *q, dnnl_primitive_desc_t pd) {
  const char *impl = "";
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl);
  snprintf(path, sizeof path, "%s", impl);
  if (strstr(impl, "ref")) return RIDGE_E_ARG;
  TRY(dnnl_primitive_create(&q->prim, pd));
  return RIDGE_OK;
}

#define WANT(pd, what) dnnl_primitive_desc_query_md(pd, dnnl_query_##what##_md, 0)

static int reorder(const operand *o) {
  dnnl_exec_arg_t a[2] = {{DNNL_ARG_FROM, o->out ? o->lib : o->user}, {DNNL_ARG_TO, o->out ? o->user : o->lib}};
  TRY(dnnl_primitive_execute(o->reorder, stream, 2, a));
  TRY(dnnl_stream_wait(stream));
  return RIDGE_OK;
}

static int run(prepared *q) {
  if (!q->fresh) {
    for (int i = 0; i < q->n; i++)
      if (q->op[i].reorder && !q->op[i].out) {
        int rc = reorder(&q->op[i]);
        if (rc) return rc;
      }
    q->fresh = 1;
  }
  TRY(dnnl_primitive_execute(q->prim, stream, q->n, q->exec));
  TRY(dnnl_stream_wait(stream));
  return RIDGE_OK;
}

static dnnl_data_type_t types(const char *d, dnnl_data_type_t *b, dnnl_data_type_t *c) {
  dnnl_data_type_t t = dnnl_f32;
  if (!strcmp(d, "bf16")) t = dnnl_bf16;
  if (!strcmp(d, "fp16")) t = dnnl_f16;
  *b = *c = t;
  if (!strcmp(d, "int8")) return *b = dnnl_s8, *c = dnnl_s32, dnnl_s8;
  if (!strcmp(d, "u8s8")) return *b = dnnl_s8, *c = dnnl_s32, dnnl_u8;
  return t;
}

static int matmul(const void *args, const char *dtype, int packed) {
  const ridge_gemm_args *a = args;
  int rc = start();
  prepared *q = slot(a);
  if (rc || !q) return RIDGE_E_SYSTEM;
  if (q->ready) return run(q);
  dnnl_data_type_t tb, tc, ta = types(dtype, &tb, &tc);
  // A batch is a first dimension; without one the matrices begin behind it.
  const int n = a->batch > 1 ? 3 : 2, no = 3 - n;
  const dnnl_dims_t da = {a->batch, a->M, a->K}, db = {a->batch, a->K, a->N}, dc = {a->batch, a->M, a->N};
  const dnnl_dims_t sa = {a->stride_a, a->lda, 1}, sb = {a->stride_b, a->trans_b ? 1 : a->ldb, a->trans_b ? a->ldb : 1}, sc = {a->stride_c, a->ldc, 1};
  md_t ma = describe(n, da + no, ta, sa + no), mb = describe(n, db + no, tb, sb + no), mc = describe(n, dc + no, tc, sc + no);
  md_t wb = packed ? describe(n, db + no, tb, NULL) : mb;
  dnnl_primitive_desc_t pd;
#if DNNL_VERSION_MAJOR >= 3
  TRY(dnnl_matmul_primitive_desc_create(&pd, engine, ma, wb, NULL, mc, NULL));
#else
  dnnl_matmul_desc_t d;
  TRY(dnnl_matmul_desc_init(&d, ma, wb, NULL, mc));
  TRY(dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL));
#endif
  if ((rc = make(q, pd)) || (rc = operate(q, DNNL_ARG_SRC, 0, ma, ma, a->A)) ||
      (rc = operate(q, DNNL_ARG_WEIGHTS, 0, mb, WANT(pd, weights), a->B)) || (rc = operate(q, DNNL_ARG_DST, 1, mc, mc, a->C)))
    return rc;
  q->ready = 1;
  return run(q);
}

static int conv(const void *args, const char *dtype, int blocked) {
  const ridge_conv_args *a = args;
  int rc = start();
  prepared *q = slot(a);
  if (rc || !q) return RIDGE_E_SYSTEM;
  if (q->ready) return run(q);
  dnnl_data_type_t tw, ty, tx = types(dtype, &tw, &ty);
  const int64_t g = a->groups, cg = a->C / g, kg = a->K / g;
  const dnnl_dims_t dx = {a->N, a->C, a->H, a->W}, dy = {a->N, a->K, a->Ho, a->Wo};
  if (a->scale) ty = dnnl_s8;
  dnnl_dims_t sx, sy, sw, dw = {g, kg, cg, a->R, a->S};
  dense(4, dx, sx), dense(4, dy, sy), dense(5, dw, sw);
  if (a->layout == 1) {
    const dnnl_dims_t nx = {a->H * a->W * a->C, 1, a->W * a->C, a->C}, ny = {a->Ho * a->Wo * a->K, 1, a->Wo * a->K, a->K};
    const dnnl_dims_t nw = {kg * a->R * a->S * cg, a->R * a->S * cg, 1, a->S * cg, cg};
    memcpy(sx, nx, sizeof nx), memcpy(sy, ny, sizeof ny), memcpy(sw, nw, sizeof nw);
  }
  const int grouped = g > 1, nw = 4 + grouped;
  const int64_t *wd = dw + !grouped, *ws = sw + !grouped;
  const dnnl_dims_t st = {a->stride_h, a->stride_w}, dil = {a->dil_h - 1, a->dil_w - 1};
  dnnl_dims_t pl = {a->pad_h, a->pad_w}, pr;
  pr[0] = (a->Ho - 1) * a->stride_h + (a->R - 1) * a->dil_h + 1 - a->H - a->pad_h;
  pr[1] = (a->Wo - 1) * a->stride_w + (a->S - 1) * a->dil_w + 1 - a->W - a->pad_w;
  md_t mx = describe(4, dx, tx, sx), my = describe(4, dy, ty, sy), mw = describe(nw, wd, tw, ws), any = describe(nw, wd, tw, NULL);
  md_t wx = blocked ? describe(4, dx, tx, NULL) : mx, wy = blocked ? describe(4, dy, ty, NULL) : my;
  dnnl_primitive_desc_t pd;
#if DNNL_VERSION_MAJOR >= 3
  dnnl_primitive_attr_t attr = NULL;
  if (a->scale) {
    TRY(dnnl_primitive_attr_create(&attr));
    TRY(dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, grouped ? 3 : 1));
  }
  TRY(dnnl_convolution_forward_primitive_desc_create(&pd, engine, dnnl_forward_inference, dnnl_convolution_direct, wx, any, NULL, wy, st, dil, pl, pr, attr));
#else
  dnnl_convolution_desc_t d;
  TRY(dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct, wx, any, NULL, wy, st, dil, pl, pr));
  TRY(dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL));
#endif
  if ((rc = make(q, pd)) || (rc = operate(q, DNNL_ARG_SRC, 0, mx, WANT(pd, src), a->x)) ||
      (rc = operate(q, DNNL_ARG_WEIGHTS, 0, mw, WANT(pd, weights), a->w)) || (rc = operate(q, DNNL_ARG_DST, 1, my, WANT(pd, dst), a->y)))
    return rc;
#if DNNL_VERSION_MAJOR >= 3
  if (a->scale) {
    const dnnl_dims_t channels = {a->K}, one = {1};
    md_t ms = describe(1, channels, dnnl_f32, one);
    if ((rc = operate(q, DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, 0, ms, ms, a->scale))) return rc;
  }
#endif
  q->ready = 1;
  return run(q);
}

#if DNNL_VERSION_MAJOR >= 3
// One operand in, one out, all contiguous: the primitive of pd on x and y with the given shapes.
static int simple(prepared *q, dnnl_primitive_desc_t pd, cmd_t mx, const void *x, cmd_t mx2, const void *x2, cmd_t my, void *y) {
  int rc;
  if ((rc = make(q, pd)) || (rc = operate(q, x2 ? DNNL_ARG_SRC_0 : DNNL_ARG_SRC, 0, mx, mx, x))) return rc;
  if (x2 && (rc = operate(q, DNNL_ARG_SRC_1, 0, mx2, mx2, x2))) return rc;
  if ((rc = operate(q, DNNL_ARG_DST, 1, my, my, y))) return rc;
  return RIDGE_OK;
}

static int elementwise(const void *args, const char *dtype) {
  static const struct {
    int op, alg;
  } algs[] = {{RIDGE_EW_RELU, dnnl_eltwise_relu}, {RIDGE_EW_GELU, dnnl_eltwise_gelu_erf}, {RIDGE_EW_GELU_TANH, dnnl_eltwise_gelu_tanh},
              {RIDGE_EW_SIGMOID, dnnl_eltwise_logistic}, {RIDGE_EW_TANH, dnnl_eltwise_tanh}, {RIDGE_EW_EXP, dnnl_eltwise_exp},
              {RIDGE_EW_ADD, dnnl_binary_add}, {RIDGE_EW_MULTIPLY, dnnl_binary_mul}};
  const ridge_elementwise_args *a = args;
  int rc = start(), alg = 0;
  prepared *q = slot(a);
  if (rc || !q) return RIDGE_E_SYSTEM;
  if (q->ready) return run(q);
  for (size_t i = 0; i < sizeof algs / sizeof *algs; i++)
    if (algs[i].op == a->op) alg = algs[i].alg;
  if (!alg) return RIDGE_E_ARG;
  dnnl_data_type_t b, c, t = types(dtype, &b, &c);
  const dnnl_dims_t dims = {a->n}, one = {1};
  md_t m = describe(1, dims, t, one);
  dnnl_primitive_desc_t pd;
  if (a->b) {
    TRY(dnnl_binary_primitive_desc_create(&pd, engine, alg, m, m, m, NULL));
  } else {
    TRY(dnnl_eltwise_forward_primitive_desc_create(&pd, engine, dnnl_forward_inference, alg, m, m, 0, 0, NULL));
  }
  if ((rc = simple(q, pd, m, a->a, m, a->b, m, a->y))) return rc;
  q->ready = 1;
  return run(q);
}

static int reduction(const void *args, const char *dtype) {
  const ridge_reduction_args *a = args;
  int rc = start();
  prepared *q = slot(a);
  if (rc || !q) return RIDGE_E_SYSTEM;
  if (q->ready) return run(q);
  dnnl_data_type_t b, c, t = types(dtype, &b, &c);
  const dnnl_dims_t dims = {a->rows, a->cols}, strides = {a->cols, 1}, cols = {a->cols}, one = {1, 1};
  md_t m = describe(2, dims, t, strides), mg = describe(1, cols, dnnl_f32, one), scalar = describe(2, one, t, one);
  dnnl_primitive_desc_t pd;
  switch (a->op) {
  case RIDGE_RD_SOFTMAX:
    TRY(dnnl_softmax_forward_primitive_desc_create(&pd, engine, dnnl_forward_inference, dnnl_softmax_accurate, m, m, a->dim, NULL));
    if ((rc = simple(q, pd, m, a->x, NULL, NULL, m, a->y))) return rc;
    break;
  case RIDGE_RD_LAYER_NORM:
    if (t != dnnl_f32) return RIDGE_E_ARG; // its scale and shift are fp32
    TRY(dnnl_layer_normalization_forward_primitive_desc_create(&pd, engine, dnnl_forward_inference, m, m, NULL, (float)a->eps,
                                                               dnnl_use_scale | dnnl_use_shift, NULL));
    if ((rc = simple(q, pd, m, a->x, NULL, NULL, m, a->y)) || (rc = operate(q, DNNL_ARG_SCALE, 0, mg, mg, a->gamma)) ||
        (rc = operate(q, DNNL_ARG_SHIFT, 0, mg, mg, a->beta)))
      return rc;
    break;
  case RIDGE_RD_SUM:
  case RIDGE_RD_MEAN:
  case RIDGE_RD_MAX:
  case RIDGE_RD_MIN:
    if (a->dim >= 0) return RIDGE_E_ARG;
    TRY(dnnl_reduction_primitive_desc_create(&pd, engine,
                                             a->op == RIDGE_RD_SUM    ? dnnl_reduction_sum
                                             : a->op == RIDGE_RD_MEAN ? dnnl_reduction_mean
                                             : a->op == RIDGE_RD_MAX  ? dnnl_reduction_max
                                                                      : dnnl_reduction_min,
                                             m, scalar, 0, 0, NULL));
    if ((rc = simple(q, pd, m, a->x, NULL, NULL, scalar, a->y))) return rc;
    break;
  default:
    return RIDGE_E_ARG;
  }
  q->ready = 1;
  return run(q);
}
#endif

static int plain_gemm(const void *args) {
  const ridge_gemm_args *a = args;
  return !a->bias && !a->residual && a->act == RIDGE_ACT_NONE && a->beta == 0 && a->alpha == 1 && a->M > 0 && a->N > 0 && a->K > 0;
}

static int plain_conv(const void *args) {
  const ridge_conv_args *a = args;
  return !a->bias && !a->residual && a->act == RIDGE_ACT_NONE && a->N > 0;
}

#define EACH(name, fn, dtype, how) \
  static int name(const void *args, const ridge_ctx *ctx) { return fn(args, dtype, how); }
EACH(mm_fp32, matmul, "fp32", 0)
EACH(mm_bf16, matmul, "bf16", 0)
EACH(mm_fp16, matmul, "fp16", 0)
EACH(mm_int8, matmul, "int8", 0)
EACH(mm_u8s8, matmul, "u8s8", 0)
EACH(mm_fp32_packed, matmul, "fp32", 1)
EACH(mm_bf16_packed, matmul, "bf16", 1)
EACH(mm_fp16_packed, matmul, "fp16", 1)
EACH(mm_int8_packed, matmul, "int8", 1)
EACH(mm_u8s8_packed, matmul, "u8s8", 1)
EACH(conv_fp32, conv, "fp32", 0)
EACH(conv_bf16, conv, "bf16", 0)
EACH(conv_fp32_blocked, conv, "fp32", 1)
EACH(conv_bf16_blocked, conv, "bf16", 1)
#if DNNL_VERSION_MAJOR >= 3
#define EACH2(name, fn, dtype) \
  static int name(const void *args, const ridge_ctx *ctx) { return fn(args, dtype); }
EACH(conv_int8, conv, "int8", 0)
EACH(conv_int8_blocked, conv, "int8", 1)
EACH2(ew_fp32, elementwise, "fp32")
EACH2(ew_bf16, elementwise, "bf16")
EACH2(rd_fp32, reduction, "fp32")
EACH2(rd_bf16, reduction, "bf16")
#endif

static const ridge_kernel table[] = {
    PEER_KERNEL("plain", "gemm linear", "fp32", "fp32", 1, mm_fp32, plain_gemm),
    PEER_KERNEL("plain", "gemm linear", "bf16", "fp32", 1, mm_bf16, plain_gemm),
    PEER_KERNEL("plain", "gemm linear", "fp16", "fp32", 1, mm_fp16, plain_gemm),
    PEER_KERNEL("plain", "gemm linear", "int8", "int32", 1, mm_int8, plain_gemm),
    PEER_KERNEL("plain", "gemm linear", "u8s8", "int32", 1, mm_u8s8, plain_gemm),
    PEER_KERNEL("packed", "gemm linear", "fp32", "fp32", 1, mm_fp32_packed, plain_gemm),
    PEER_KERNEL("packed", "gemm linear", "bf16", "fp32", 1, mm_bf16_packed, plain_gemm),
    PEER_KERNEL("packed", "gemm linear", "fp16", "fp32", 1, mm_fp16_packed, plain_gemm),
    PEER_KERNEL("packed", "gemm linear", "int8", "int32", 1, mm_int8_packed, plain_gemm),
    PEER_KERNEL("packed", "gemm linear", "u8s8", "int32", 1, mm_u8s8_packed, plain_gemm),
    PEER_KERNEL("packed", "conv2d", "fp32", "fp32", 1, conv_fp32, plain_conv),
    PEER_KERNEL("packed", "conv2d", "bf16", "fp32", 1, conv_bf16, plain_conv),
    PEER_KERNEL("blocked", "conv2d", "fp32", "fp32", 1, conv_fp32_blocked, plain_conv),
    PEER_KERNEL("blocked", "conv2d", "bf16", "fp32", 1, conv_bf16_blocked, plain_conv),
#if DNNL_VERSION_MAJOR >= 3
    PEER_KERNEL("packed", "conv2d", "int8", "int32", 1, conv_int8, plain_conv),
    PEER_KERNEL("blocked", "conv2d", "int8", "int32", 1, conv_int8_blocked, plain_conv),
    PEER_KERNEL("plain", "add multiply relu gelu gelu_tanh sigmoid tanh exp", "fp32", "fp32", 0, ew_fp32, NULL),
    PEER_KERNEL("plain", "add multiply relu gelu gelu_tanh sigmoid tanh exp", "bf16", "fp32", 0, ew_bf16, NULL),
    PEER_KERNEL("plain", "sum mean max min softmax layer_norm", "fp32", "fp32", 0, rd_fp32, NULL),
    PEER_KERNEL("plain", "sum mean max min softmax", "bf16", "fp32", 0, rd_bf16, NULL),
#endif
};

const ridge_kernel *ridge_peer_table(int *n) { return *n = sizeof table / sizeof *table, table; }

const char *ridge_peer_version(void) {
  static char text[64];
  const dnnl_version_t *v = dnnl_version();
  snprintf(text, sizeof text, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
  return text;
}

// The OpenMP runtime takes its threads from OMP_NUM_THREADS.
void ridge_peer_threads(int n, const int *cpus) {}

void ridge_peer_refilled(void) {
  for (int i = 0; i < 8; i++) {
    slots[i].fresh = 0;
    for (int k = 0; k < slots[i].n; k++)
      if (slots[i].op[k].mem) memset(slots[i].op[k].mem, 0xff, slots[i].op[k].bytes);
  }
}

void ridge_peer_finish(void) {
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < slots[i].n; k++)
      if (slots[i].ready && slots[i].op[k].reorder && slots[i].op[k].out) reorder(&slots[i].op[k]);
}

void ridge_peer_release(void) {
  for (int i = 0; i < 8; i++) {
    prepared *q = &slots[i];
    if (q->prim) dnnl_primitive_destroy(q->prim);
    for (int k = 0; k < q->n; k++) {
      operand *o = &q->op[k];
      if (o->reorder) dnnl_primitive_destroy(o->reorder);
      if (o->lib && o->lib != o->user) dnnl_memory_destroy(o->lib);
      if (o->user) dnnl_memory_destroy(o->user);
      free(o->mem);
    }
    memset(q, 0, sizeof *q);
  }
}
