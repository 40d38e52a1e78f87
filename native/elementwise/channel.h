// The channel kernels: y = a + bias[c], and batch norm, y = (a - mean[c])/sqrt(variance[c] + eps)*gamma[c] + beta[c], as y = a*k[c] + m[c].
//
// One multiply-add an element: the team computes the vectors k = gamma/sqrt(var+eps), m = beta - mean*k in float64, as many channels at a
// time as a vector has doubles, and keeps them in fp32 in the workspace; at bf16 also those of the even and then those of the odd channels,
// the order of a group, behind both. Rows over the channels go in groups beside vectors that come around (ring.h); planes of one channel
// (inner > 1) have constants.
#include "ring.h"

#define EW_SPLIT (RIDGE_VEC_DTYPE == RIDGE_VEC_BF16)

// Vectors over n channels: bias, or k and then m; at bf16 then the even and the odd channels of k, and those of m.
typedef struct {
  const T *bias;
  const float *folded;
  int64_t n;
} vectors;

VFN vd widen_d(const T *p) {
  typedef float half __attribute__((vector_size(VLD * 4)));
  half h;
  for (int l = 0; l < VLD; l++) h[l] = WIDEN(p[l]);
  return __builtin_convertvector(h, vd);
}

// Channels c .. c + count - 1, count at most VLD.
VFN void fold_some(const ridge_elementwise_args *g, int64_t c, int64_t count, float *k, float *m) {
  T lanes[4][VLD];
  const T *p[4];
  for (int i = 0; i < 4; i++) {
    p[i] = (const T *)g->p[i] + c;
    if (count == VLD) continue;
    for (int l = 0; l < VLD; l++) lanes[i][l] = p[i][l < count ? l : 0];
    p[i] = lanes[i];
  }
  const vd f = widen_d(p[0]) / vsqrt_d(widen_d(p[3]) + g->s), add = widen_d(p[1]) - widen_d(p[2]) * f;
  for (int l = 0; l < count; l++) k[c + l] = (float)f[l], m[c + l] = (float)add[l];
}

// Writes the even and the odd elements from..to-1 of the two vectors of v behind them.
VFN void split(float *folded, int64_t n, int64_t from, int64_t to) {
  for (int i = 0; i < 2; i++) {
    const float *v = folded + i * n;
    float *even = folded + (2 + i) * n, *odd = even + (n + 1) / 2;
    for (int64_t c = from + (from & 1); c < to; c += 2) even[c / 2] = v[c];
    for (int64_t c = from + !(from & 1); c < to; c += 2) odd[c / 2] = v[c];
  }
}

VFN void fold(const ridge_elementwise_args *g, const ridge_ctx *ctx, float *folded) {
  int64_t from, to;
  ridge_share(g->channels, 16, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t c = from; c < to; c += VLD) fold_some(g, c, to - c < VLD ? to - c : VLD, folded, folded + g->channels);
  if (EW_SPLIT) split(folded, g->channels, from, to);
}

// A group of k (which = 0) or m (1) from channel c on.
VFN vg gfolded(const vectors *v, int which, int64_t c) {
  vg g;
  if (!EW_SPLIT) {
    EACH g.v[u] = vload(v->folded + which * v->n + c + u * VL);
    return g;
  }
  const float *even = v->folded + (2 + which) * v->n, *odd = even + (v->n + 1) / 2;
  const float *first = (c & 1 ? odd : even) + c / 2, *second = c & 1 ? even + c / 2 + 1 : odd + c / 2;
  RIDGE_UNROLL(VU) for (int u = 0; u < VU; u += 2) g.v[u] = vload(first + u / 2 * VL), g.v[u + 1] = vload(second + u / 2 * VL);
  return g;
}

VFN vg beside(vg x, const vectors *v, int64_t c, int norm) {
  if (!norm) {
    const vg p = gload(v->bias + c);
    EACH x.v[u] += p.v[u];
    return x;
  }
  const vg k = gfolded(v, 0, c), m = gfolded(v, 1, c);
  EACH x.v[u] = vfma(x.v[u], k.v[u], m.v[u]);
  return x;
}

// What lies beside the group at channel `at`.
VFN vg beside_row(vg x, const ring *r, const vectors *own, const vectors *seam, int64_t at, int norm) {
  const int crosses = ring_on_seam(r, at);
  vectors v = {crosses ? seam->bias : own->bias, crosses ? seam->folded : own->folded, crosses ? seam->n : own->n};
  if (crosses) at = ring_seam(r, at);
  // Operands are chosen here, not ways: from two ways a group comes through memory.
  if (norm) __asm__("" : "+r"(v.folded), "+r"(v.n), "+r"(at));
  else __asm__("" : "+r"(v.bias), "+r"(at));
  return beside(x, &v, at, norm);
}

// n elements of rows from channel `at` on.
VFN void rows(const T *a, T *y, int64_t n, const ring *r, const vectors *own, const vectors *seam, int64_t at, int norm, int nt) {
  int64_t i = ghead(y, n);
  if (i > 0) gstore_some(y, beside_row(gload_some(a, i), r, own, seam, at, norm), i), at = ring_next(r, at, i);
  for (; i + GN <= n; i += GN, at = ring_next(r, at, GN)) {
    ASK(a + i);
    gstore(y + i, beside_row(gload(a + i), r, own, seam, at, norm), AROUND(nt));
  }
  if (i < n) gstore_some(y + i, beside_row(gload_some(a + i, n - i), r, own, seam, at, norm), n - i);
}

// One plane, or a part of it, by vectors.
VFN void few(const T *a, T *y, int64_t n, vf mul, vf add, int norm, int nt) {
  if (norm) SPAN(vfma(IN(a), mul, add));
  else SPAN(IN(a) + add);
}

VFN vg inside(vg x, vf mul, vf add, int norm) {
  EACH x.v[u] = norm ? vfma(x.v[u], mul, add) : x.v[u] + add;
  return x;
}

// Less than a group: on AVX-512 under masks.
VFN void plane_some(const T *a, T *y, int64_t n, vf mul, vf add, int norm) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  gstore_some(y, inside(gload_some(a, n), mul, add, norm), n);
#else
  few(a, y, n, mul, add, norm, 0);
#endif
}

// y = a*mul + add, without norm a + add. Long planes go in groups from a line of y on.
VFN void plane(const T *a, T *y, int64_t n, vf mul, vf add, int norm, int nt) {
  int64_t i = nt || n >= 4 * GN ? ghead(y, n) : 0;
  if (i > 0) plane_some(a, y, i, mul, add, norm);
  for (; i + GN <= n; i += GN) {
    ASK(a + i);
    gstore(y + i, inside(gload(a + i), mul, add, norm), AROUND(nt));
  }
  if (i < n) plane_some(a + i, y + i, n - i, mul, add, norm);
}

VFN void channel_rows(const ridge_elementwise_args *g, const float *folded, ridge_pieces *pieces, int norm, int nt) {
  T bias[RING_ROOM];
  float both[4 * RING_ROOM];
  const int64_t channels = g->channels;
  const ring r = ring_of(channels);
  if (norm) {
    ring_lay(&r, both, folded, channels, sizeof(float));
    ring_lay(&r, both + r.room, folded + channels, channels, sizeof(float));
    if (EW_SPLIT) split(both, r.room, 0, r.room);
  } else {
    ring_lay(&r, bias, g->p[0], channels, sizeof(T));
  }
  const vectors laid = {bias, both, r.room}, whole = {g->p[0], folded, channels};
  for (int64_t from, to; ridge_piece(pieces, &from, &to);)
    rows((const T *)g->a + from, (T *)g->y + from, to - from, &r, r.repeated ? &laid : &whole, &laid, from % channels, norm, nt);
}

VFN void channel_planes(const ridge_elementwise_args *g, const float *folded, ridge_pieces *pieces, int norm, int nt) {
  const T *a = g->a, *bias = g->p[0];
  T *y = g->y;
  for (int64_t from, to; ridge_piece(pieces, &from, &to);) {
    int64_t c = from / g->inner % g->channels, left = g->inner - from % g->inner;
    for (int64_t i = from; i < to;) {
      const int64_t n = left < to - i ? left : to - i;
      plane(a + i, y + i, n, vset(norm ? folded[c] : 0), vset(norm ? folded[g->channels + c] : (float)WIDEN(bias[c])), norm, nt);
      i += n, left = g->inner, c = c + 1 < g->channels ? c + 1 : 0;
    }
  }
}

VFN int channel(const void *args, const ridge_ctx *ctx, int nt) {
  const ridge_elementwise_args *g = args;
  const int norm = g->op == RIDGE_EW_BATCH_NORM;
  int64_t from, to;
  float *folded = ctx->workspace;
  if (!norm && g->op != RIDGE_EW_BIAS_ADD) return RIDGE_E_ARG;
  if (norm) {
    if (ctx->workspace_bytes < (EW_SPLIT ? 16 : 8) * g->channels) return RIDGE_E_WORKSPACE;
    fold(g, ctx, folded);
    ridge_barrier(ctx);
  }
  ridge_share(g->n, 64, ctx->tid, ctx->nthreads, &from, &to);
  if (from >= to) return RIDGE_OK;
  ridge_pieces pieces = pieces_of((T *)g->y, from, to, nt, ctx);
  if (norm && g->inner == 1) channel_rows(g, folded, &pieces, 1, nt);
  else if (norm) channel_planes(g, folded, &pieces, 1, nt);
  else if (g->inner == 1) channel_rows(g, folded, &pieces, 0, nt);
  else channel_planes(g, folded, &pieces, 0, nt);
  if (AROUND(nt)) vstream_end();
  return RIDGE_OK;
}
