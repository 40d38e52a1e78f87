// Two products in one launch (template, after gemm_driver.h; fp32 and bf16, by multiply-adds, dot products and tiles), row-major, weights
// stored [out,in]:
//
//   swiglu: Y[M,N] = silu(X[M,K]*B[N,K]^T) o (X*B2[N,K]^T)
//   mlp:    Y[M,N] = act(X[M,K]*B[H,K]^T + bias[H]) * B2[N,H]^T + bias2[N]
//
// Any shape and alignment; Y overlaps nothing. FLOP: swiglu 4MNK + 6MN, mlp 2MHK + 2MNH, the biases and the activation.
// Bytes: X, the weights and Y once; what lies between the products never leaves the caches.
// Limit: the multiply-adds of the register tile from some 50 rows on, below it packing and reading the weights, which no row
// count changes (gemm_few.h), up to 3 rows the memory.
//
//   for blocks of R rows of X: the team packs them in all of K; barrier
//     swiglu: each thread, for its columns by two panels: sums of the gate, sums of up, both in its L2; then the
//       combination, four vectors side by side, straight to Y
//     mlp: for chunks of HC hidden features:
//       each thread, for its part of the chunk by four panels: sums (its L2), bias and activation into the hidden block; barrier
//       the team packs the hidden block as A of the second product; barrier
//       each thread, for its columns of Y by four panels: sums += hidden block * B2 chunk; behind the last chunk bias, Y
//
// R = 2 MC at most, HC = KC (more where the team has more panels to share): the packed hidden block is what the block of A of
// a product is, R x KC in L2, and a chunk is one block of K of the second product, so that its sums are
// touched as often as C is there. Multiply-adds keep the hidden block in the accumulator's type: nothing is rounded in between. Dot products
// and tiles take operands of 16 bits, so it is rounded to bf16 once, as the chain of two layers rounds what it stores (mlp_* of kernels.def).
// With up to 3 rows nothing is packed (dot products and tiles take more: ridge_gemm_thick): dot products with the rows of the weights as they lie. The hidden features are some kilobytes
// then and one chunk: the rows of B2 are read to their ends (fp32 1x768x3072 of the chain: 0.57 by chunks of 1,024 features, then 1.0).

#define GEMM_LAYERS_THIN 1024
#if GEMM_PK > 1 // what the hidden block holds
#define GEMM_HID GEMM_TA
#define GEMM_HID_STORE(p, v) GEMM_STOREV(p, v)
#else
#define GEMM_HID GEMM_S
#define GEMM_HID_STORE(p, v) (*(GEMM_F(vecu) *)(p) = (v))
#endif

// How a launch is cut, and where its parts of the workspace begin.
typedef struct GEMM_F(layers_plan) {
  int64_t rows, kc, hc, kc2;    // rows of a block, K of a block, hidden features of a chunk and of a block of it
  int64_t a1, a2;               // bytes of one packed block of K of X, of the hidden block
  int64_t acc_ld, hid_ld, y_ld; // pitches of sums
  int64_t b_at, a1_at, a2_at, acc_at, hid_at, y_at, total;
  int64_t b_bytes, acc_bytes;   // of one thread
} GEMM_F(layers_plan);

RIDGE_INLINE GEMM_F(layers_plan) GEMM_F(make_layers_plan)(const ridge_gemm_args *g, int64_t nthreads) {
  GEMM_F(layers_plan) p;
  const int mlp = g->layers == RIDGE_LAYERS_MLP, thin = GEMM_PK == 1 && g->M <= GEMM_THIN;
  const int64_t s = sizeof(GEMM_S), block = g->kc > 0 ? g->kc : GEMM_KC;
  p.rows = thin ? g->M : gemm_block(g->M, 2 * (g->mc > 0 ? g->mc : GEMM_MC), 1);
  p.kc = gemm_block(g->K, block, GEMM_KU);
  p.hc = thin ? g->H : gemm_ceil(gemm_ceil(2 * nthreads * GEMM_NR, block), GEMM_NR);
  p.hc = mlp ? gemm_ceil(gemm_min(p.hc, g->H), GEMM_NR) : 0;
  p.kc2 = gemm_block(p.hc, block, GEMM_KU);
  const int64_t tiles = (p.rows + GEMM_MR - 1) / GEMM_MR, high = tiles * GEMM_MR;
  p.a1 = gemm_ceil(tiles * GEMM_A_PANEL(p.kc), 64);
  p.a2 = gemm_ceil(tiles * GEMM_A_PANEL(p.kc2), 64);
  p.acc_ld = thin ? GEMM_LAYERS_THIN : GEMM_GROUP + 16;
  p.hid_ld = p.hc + 16;
  p.y_ld = gemm_ceil(g->N, GEMM_NR) + 16;
  p.b_bytes = thin ? ridge_apart(GEMM_THIN * g->K * s) : gemm_ceil(GEMM_GROUP / GEMM_NR * GEMM_B_PANEL(p.kc > p.kc2 ? p.kc : p.kc2), 4096);
  p.acc_bytes = ridge_apart((thin ? 2 * GEMM_THIN : high) * p.acc_ld * s);
  p.b_at = 0;
  p.acc_at = nthreads * p.b_bytes;
  p.a1_at = gemm_ceil(p.acc_at + nthreads * p.acc_bytes, 4096);
  p.a2_at = gemm_ceil(p.a1_at + (thin ? 0 : (g->K + p.kc - 1) / p.kc * p.a1) + 64, 4096);
  p.hid_at = gemm_ceil(p.a2_at + (thin || !mlp ? 0 : (p.hc + p.kc2 - 1) / p.kc2 * p.a2) + 64, 4096);
  p.y_at = gemm_ceil(p.hid_at + (mlp ? high * p.hid_ld * s : 0), 4096);
  p.total = p.y_at + (mlp ? high * p.y_ld * s : 0);
  return p;
}

RIDGE_INLINE int64_t GEMM_F(layers_bytes)(const ridge_gemm_args *g, int64_t nthreads) { return GEMM_F(make_layers_plan)(g, nthreads).total; }

// The team packs rows x k elements by tiles and blocks of K: of X (src), or of the hidden block (hid, where src is NULL).
GEMM_INLINE void GEMM_F(pack_block)(const GEMM_TA *src, const GEMM_HID *hid, int64_t ld, int64_t rows, int64_t k, int64_t kc, char *dst,
                                    int64_t bytes, const ridge_ctx *ctx) {
  const int64_t tiles = (rows + GEMM_MR - 1) / GEMM_MR, blocks = (k + kc - 1) / kc;
  int64_t from, to;
  ridge_share(blocks * tiles, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    int m;
    const int64_t pc = u / tiles * kc, t = u % tiles, i = GEMM_F(tile_at)(rows, t, &m), n = gemm_min(kc, k - pc);
    char *at = dst + u / tiles * bytes + t * GEMM_A_PANEL(gemm_ceil(n, GEMM_KU));
#if GEMM_PK > 1
    GEMM_F(pack_a)(at, (src ? src : hid) + i * ld + pc, ld, m, n);
#else
    if (src) {
      GEMM_F(pack_a)(at, src + i * ld + pc, ld, m, n);
      continue;
    }
#if GEMM_EXACT
    GEMM_F(turn32)((uint32_t *)at, hid + i * ld + pc, ld * 4, m, n);
#else
    GEMM_F(transpose32)((uint32_t *)at, hid + i * ld + pc, ld * 4, GEMM_MR, m, n);
#endif
#endif
  }
}

// acc[rows x cols] = (add ? acc : 0) + A * b[cols,k]^T: A packed, b read and packed here; whole tiles are written.
// next: what is packed after this, asked for ahead, or NULL.
GEMM_NOINLINE void GEMM_F(sum_columns)(const ridge_gemm_args *g, int64_t block, int64_t rows, int64_t k, char *a,
                                       int64_t bytes, const GEMM_TB *b, int64_t ldb, int64_t cols, char *b_pack, GEMM_S *acc,
                                       int64_t acc_ld, int add, const GEMM_TB *next, int64_t next_ld) {
  GEMM_F(block) q;
  memset(&q, 0, sizeof q);
  q.rows = rows, q.cols = cols, q.b = b_pack, q.acc = acc, q.acc_ld = acc_ld, q.padded = 1;
  const int64_t size = sizeof(GEMM_TB), steps = (rows + GEMM_MR - 1) / GEMM_MR * ((cols + GEMM_NR - 1) / GEMM_NR);
  for (int64_t pc = 0; pc < k; pc += block) {
    const int64_t kc = gemm_min(block, k - pc);
    q.kc = gemm_ceil(kc, GEMM_KU);
    q.a_panel = GEMM_A_PANEL(q.kc), q.b_panel = GEMM_B_PANEL(q.kc);
    q.a = a + pc / block * bytes;
    q.first = pc == 0 && !add;
    GEMM_F(pack_b)(b_pack, b + pc, ldb, 1, cols, kc);
    q.ahead.left = 0;
    if (pc + kc < k) q.ahead = gemm_ahead_of(b + pc + kc, ldb * size, cols, gemm_min(block, k - pc - kc) * size, steps);
    else if (next) q.ahead = gemm_ahead_of(next, next_ld * size, cols, gemm_min(block, k) * size, steps);
    GEMM_F(macro)(g, &q);
  }
}

// Y[rows x n] at c = silu(gate) o up.
GEMM_NOINLINE void GEMM_F(gated)(GEMM_TC *c, int64_t ldc, int64_t rows, int64_t n, const GEMM_S *gate, const GEMM_S *up, int64_t ld) {
  enum { L = GEMM_LANES };
  typedef GEMM_F(vecu) VU;
  for (int64_t i = 0; i < rows; i++, c += ldc, gate += ld, up += ld) {
    int64_t j = 0;
    for (; j + 4 * L <= n; j += 4 * L) {
      GEMM_F(vec) s[4];
      RIDGE_UNROLL_FULL for (int u = 0; u < 4; u++) s[u] = *(const VU *)(gate + j + u * L);
      GEMM_F(silu)(s, 4);
      RIDGE_UNROLL_FULL for (int u = 0; u < 4; u++) {
        s[u] *= *(const VU *)(up + j + u * L);
        GEMM_STOREV(c + j + u * L, s[u]);
      }
    }
    for (; j < n; j += L) { // sums are there for whole vectors
      GEMM_F(vec) s = *(const VU *)(gate + j);
      GEMM_F(silu)(&s, 1);
      s *= *(const VU *)(up + j);
      if (j + L <= n) GEMM_STOREV(c + j, s);
      else
        for (int64_t l = 0; j + l < n; l++) c[j + l] = GEMM_STORES(s[l]);
    }
  }
}

// hid[rows x n] = act(sums + bias); reads and writes whole vectors.
GEMM_NOINLINE void GEMM_F(hidden)(GEMM_HID *hid, int64_t ldh, int64_t rows, int64_t n, const GEMM_S *sums, int64_t ld, const GEMM_TC *bias,
                                  int act) {
  enum { L = GEMM_LANES };
  typedef GEMM_F(vec) V;
  typedef GEMM_F(vecu) VU;
  for (int64_t j = 0; j < n; j += L) {
    V b = {0};
    if (j + L <= n) b = GEMM_LOADV(bias + j);
    else
      for (int64_t l = 0; j + l < n; l++) b[l] = GEMM_LOADS(bias[j + l]);
    for (int64_t i = 0; i < rows; i += 8) { // eight rows side by side
      V s[8];
      const int h = (int)gemm_min(8, rows - i);
      for (int q = 0; q < h; q++) s[q] = *(const VU *)(sums + (i + q) * ld + j) + b;
      if (act == RIDGE_ACT_RELU)
        for (int q = 0; q < h; q++) GEMM_F(raise)(&s[q], 0);
      else if (act > RIDGE_ACT_RELU)
        GEMM_F(activate)(s, h, act);
      for (int q = 0; q < h; q++) GEMM_HID_STORE(hid + (i + q) * ldh + j, s[q]);
    }
  }
}

#if GEMM_PK == 1
// One dot product of each of m rows of a with a row of the weights.
GEMM_INLINE void GEMM_F(layer_dot)(const GEMM_S *a, int64_t lda, const GEMM_TB *b, int64_t k, const int m, GEMM_S *out, int64_t ld) {
  enum { L = GEMM_LANES };
  typedef GEMM_F(vec) V;
  V s[GEMM_THIN][4];
  RIDGE_UNROLL_FULL for (int i = 0; i < m; i++)
    RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++) s[i][q] = (V){0};
  int64_t at = 0;
  for (; at + 4 * L <= k; at += 4 * L)
    RIDGE_UNROLL_FULL for (int q = 0; q < 4; q++) {
      const V v = GEMM_LOADV(b + at + q * L);
      RIDGE_UNROLL_FULL for (int i = 0; i < m; i++) s[i][q] = *(const GEMM_F(vecu) *)(a + i * lda + at + q * L) * v + s[i][q];
    }
  RIDGE_UNROLL_FULL for (int i = 0; i < m; i++) {
    const V t = (s[i][0] + s[i][1]) + (s[i][2] + s[i][3]);
    GEMM_S r = 0;
    for (int l = 0; l < L; l++) r += t[l];
    for (int64_t q = at; q < k; q++) r += a[i * lda + q] * (GEMM_S)GEMM_LOADS(b[q]);
    out[i * ld] = r;
  }
}

// out[m x n] = a[m,k] * b[n,k]^T, m up to GEMM_THIN.
GEMM_NOINLINE void GEMM_F(layer_dots)(const GEMM_S *a, int64_t lda, const GEMM_TB *b, int64_t ldb, int64_t k, int64_t m, int64_t n,
                                      GEMM_S *out, int64_t ld) {
  for (int64_t j = 0; j < n; j++, b += ldb, out++) {
    if (m == 1) GEMM_F(layer_dot)(a, lda, b, k, 1, out, ld);
    else if (m == 2) GEMM_F(layer_dot)(a, lda, b, k, 2, out, ld);
    else GEMM_F(layer_dot)(a, lda, b, k, 3, out, ld);
  }
}

// Up to 3 rows. Each thread has X as sums for itself.
GEMM_NOINLINE int GEMM_F(thin_layers)(const ridge_gemm_args *g, const ridge_ctx *ctx, const GEMM_F(layers_plan) *p) {
  enum { W = GEMM_LAYERS_THIN };
  char *ws = ctx->workspace;
  GEMM_S *x = (GEMM_S *)(ws + p->b_at + ctx->tid * p->b_bytes), *acc = (GEMM_S *)(ws + p->acc_at + ctx->tid * p->acc_bytes);
  const GEMM_TB *b1 = g->B, *b2 = g->B2;
  const int64_t m = g->M;
  int64_t from, to;
  for (int64_t i = 0; i < m; i++)
    for (int64_t k = 0; k < g->K; k++) x[i * g->K + k] = GEMM_LOADS(((const GEMM_TA *)g->A)[i * g->lda + k]);
  if (g->layers == RIDGE_LAYERS_SWIGLU) {
    ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &from, &to);
    for (int64_t j = from, n; j < to; j += n) {
      n = gemm_min(W, to - j);
      GEMM_F(layer_dots)(x, g->K, b1 + j * g->ldb, g->ldb, g->K, m, n, acc, W);
      GEMM_F(layer_dots)(x, g->K, b2 + j * g->ldb2, g->ldb2, g->K, m, n, acc + GEMM_THIN * W, W);
      GEMM_F(gated)((GEMM_TC *)g->C + j, g->ldc, m, n, acc, acc + GEMM_THIN * W, W);
    }
    return RIDGE_OK;
  }
  GEMM_S *hid = (GEMM_S *)(ws + p->hid_at), *y = (GEMM_S *)(ws + p->y_at);
  int64_t y0, y1;
  ridge_share(g->N, 16, ctx->tid, ctx->nthreads, &y0, &y1);
  for (int64_t i = 0; i < m; i++) memset(y + i * p->y_ld + y0, 0, (size_t)(y1 - y0) * sizeof(GEMM_S));
  for (int64_t h0 = 0; h0 < g->H; h0 += p->hc) {
    const int64_t hc = gemm_min(p->hc, g->H - h0);
    ridge_share(hc, 16, ctx->tid, ctx->nthreads, &from, &to);
    if (h0 > 0) ridge_barrier(ctx); // the hidden block is read until here
    for (int64_t j = from, n; j < to; j += n) {
      n = gemm_min(W, to - j);
      GEMM_F(layer_dots)(x, g->K, b1 + (h0 + j) * g->ldb, g->ldb, g->K, m, n, acc, W);
      GEMM_F(hidden)(hid + j, p->hid_ld, m, n, acc, W, (const GEMM_TC *)g->bias + h0 + j, g->act);
    }
    ridge_barrier(ctx);
    for (int64_t j = y0, n; j < y1; j += n) {
      n = gemm_min(W, y1 - j);
      GEMM_F(layer_dots)(hid, p->hid_ld, b2 + j * g->ldb2 + h0, g->ldb2, hc, m, n, acc, W);
      for (int64_t i = 0; i < m; i++)
        for (int64_t q = 0; q < n; q++) y[i * p->y_ld + j + q] += acc[i * W + q];
    }
  }
  ridge_gemm_args last = *g;
  last.alpha = 1, last.act = RIDGE_ACT_NONE, last.bias = g->bias2;
  GEMM_F(finish)(&last, 0, y0, m, y1 - y0, y + y0, p->y_ld, NULL, 0);
  return RIDGE_OK;
}

#endif

GEMM_NOINLINE int GEMM_F(layers)(const ridge_gemm_args *g, const ridge_ctx *ctx) {
  if (g->M <= 0 || g->N <= 0) return RIDGE_OK;
  const GEMM_F(layers_plan) p = GEMM_F(make_layers_plan)(g, ctx->nthreads);
  if (ctx->workspace_bytes < p.total) return RIDGE_E_WORKSPACE;
#if GEMM_PK == 1
  if (g->M <= GEMM_THIN) return GEMM_F(thin_layers)(g, ctx, &p);
#endif
  char *ws = ctx->workspace, *b_pack = ws + p.b_at + ctx->tid * p.b_bytes, *a1 = ws + p.a1_at, *a2 = ws + p.a2_at;
  GEMM_S *acc = (GEMM_S *)(ws + p.acc_at + ctx->tid * p.acc_bytes), *y = (GEMM_S *)(ws + p.y_at);
  GEMM_HID *hid = (GEMM_HID *)(ws + p.hid_at);
  const GEMM_TB *b1 = g->B, *b2 = g->B2;
  ridge_gemm_args last = *g;
  last.alpha = 1, last.act = RIDGE_ACT_NONE, last.bias = g->bias2;
  GEMM_BEGIN
  int64_t c0, c1, from, to;
  ridge_share(g->N, GEMM_NR, ctx->tid, ctx->nthreads, &c0, &c1);
  for (int64_t i0 = 0; i0 < g->M; i0 += p.rows) {
    const int64_t rows = gemm_min(p.rows, g->M - i0);
    if (i0 > 0) ridge_barrier(ctx); // packed rows are read until here
    GEMM_F(pack_block)((const GEMM_TA *)g->A + i0 * g->lda, NULL, g->lda, rows, g->K, p.kc, a1, p.a1, ctx);
    ridge_barrier(ctx);
    if (g->layers == RIDGE_LAYERS_SWIGLU) {
      for (int64_t j = c0, n; j < c1; j += n) {
        n = gemm_min(GEMM_GROUP / 2, c1 - j);
        const GEMM_TB *gate = b1 + j * g->ldb, *up = b2 + j * g->ldb2;
        const int more = j + n + GEMM_GROUP / 2 <= c1;
        GEMM_F(sum_columns)(g, p.kc, rows, g->K, a1, p.a1, gate, g->ldb, n, b_pack, acc, p.acc_ld, 0, up, g->ldb2);
        GEMM_F(sum_columns)(g, p.kc, rows, g->K, a1, p.a1, up, g->ldb2, n, b_pack, acc + GEMM_GROUP / 2, p.acc_ld, 0,
                            more ? gate + n * g->ldb : NULL, g->ldb);
        GEMM_F(gated)((GEMM_TC *)g->C + i0 * g->ldc + j, g->ldc, rows, n, acc, acc + GEMM_GROUP / 2, p.acc_ld);
      }
      continue;
    }
    for (int64_t h0 = 0; h0 < g->H; h0 += p.hc) {
      const int64_t hc = gemm_min(p.hc, g->H - h0);
      ridge_share(hc, GEMM_NR, ctx->tid, ctx->nthreads, &from, &to);
      for (int64_t h = from, n; h < to; h += n) {
        n = gemm_min(GEMM_GROUP, to - h);
        const GEMM_TB *b = b1 + (h0 + h) * g->ldb;
        GEMM_F(sum_columns)(g, p.kc, rows, g->K, a1, p.a1, b, g->ldb, n, b_pack, acc, p.acc_ld, 0, h + 2 * n <= to ? b + n * g->ldb : NULL, g->ldb);
        GEMM_F(hidden)(hid + h, p.hid_ld, rows, n, acc, p.acc_ld, (const GEMM_TC *)g->bias + h0 + h, g->act);
      }
      ridge_barrier(ctx);
      GEMM_F(pack_block)(NULL, hid, p.hid_ld, rows, hc, p.kc2, a2, p.a2, ctx);
      ridge_barrier(ctx);
      for (int64_t j = c0, n; j < c1; j += n) {
        n = gemm_min(GEMM_GROUP, c1 - j);
        const GEMM_TB *b = b2 + j * g->ldb2 + h0;
        GEMM_F(sum_columns)(g, p.kc2, rows, hc, a2, p.a2, b, g->ldb2, n, b_pack, y + j, p.y_ld, h0 > 0, j + 2 * n <= c1 ? b + n * g->ldb2 : NULL, g->ldb2);
      }
    }
    GEMM_F(finish)(&last, i0, c0, rows, c1 - c0, y + c0, p.y_ld, NULL, 0);
  }
  GEMM_END
  return RIDGE_OK;
}
#undef GEMM_LAYERS_THIN
#undef GEMM_HID
#undef GEMM_HID_STORE
