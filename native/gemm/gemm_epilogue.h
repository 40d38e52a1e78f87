// The end of a GEMM tile (template): C = act(alpha*t + beta*D + bias) + residual, rounded
// once to C's type. t is an m x n tile of accumulators in L1, prev the sum of the earlier K
// blocks or NULL.
//
// Macros: GEMM_S accumulator, GEMM_TC stored type, GEMM_LOADS(x) stored value to GEMM_S,
// GEMM_STORES(x) back, GEMM_MAXN the longest row of a tile; GEMM_STOREV(p, v) stores a
// vector GEMM_F(vec) of GEMM_LANES accumulators (optional); GEMM_NO_ACT for integer kernels.

GEMM_INLINE void GEMM_F(finish_n)(const ridge_gemm_args *g, int64_t i0, int64_t j0, int m, const int n, const GEMM_S *t,
                                  int64_t ldt, const GEMM_S *prev, int64_t ldprev) {
  const GEMM_S alpha = (GEMM_S)g->alpha, beta = (GEMM_S)g->beta;
  const GEMM_TC *bias = g->bias ? (const GEMM_TC *)g->bias + j0 : NULL;
  for (int i = 0; i < m; i++) {
    GEMM_S v[GEMM_MAXN] __attribute__((aligned(64)));
    GEMM_TC *c = (GEMM_TC *)g->C + (i0 + i) * g->ldc + j0;
    for (int j = n; j < GEMM_MAXN; j++) v[j] = 0;
    if (prev) {
      for (int j = 0; j < n; j++) v[j] = alpha * (t[i * ldt + j] + prev[i * ldprev + j]);
    } else {
      for (int j = 0; j < n; j++) v[j] = alpha * t[i * ldt + j];
    }
    if (g->beta != 0) {
      const GEMM_TC *d = (const GEMM_TC *)g->D + (i0 + i) * g->ldd + j0;
      for (int j = 0; j < n; j++) v[j] += beta * (GEMM_S)GEMM_LOADS(d[j]);
    }
    if (bias)
      for (int j = 0; j < n; j++) v[j] += (GEMM_S)GEMM_LOADS(bias[j]);
#ifndef GEMM_NO_ACT
    if (g->act != RIDGE_ACT_NONE) GEMM_F(act_float)(v, GEMM_MAXN, g->act);
#endif
    if (g->residual) {
      const GEMM_TC *r = (const GEMM_TC *)g->residual + (i0 + i) * g->ldc + j0;
      for (int j = 0; j < n; j++) v[j] += (GEMM_S)GEMM_LOADS(r[j]);
    }
    int j = 0;
#ifdef GEMM_STOREV
    for (; j + GEMM_LANES <= n; j += GEMM_LANES) GEMM_STOREV(c + j, *(const GEMM_F(vec) *)(v + j));
#endif
    for (; j < n; j++) c[j] = GEMM_STORES(v[j]);
  }
}

// Whether C is just the product, so that a tile may be stored straight to it.
RIDGE_INLINE int GEMM_F(plain)(const ridge_gemm_args *g) {
  return g->alpha == 1 && g->beta == 0 && !g->bias && !g->residual && g->act == RIDGE_ACT_NONE;
}

// Whole rows of a tile have loops of constant length.
GEMM_NOINLINE void GEMM_F(finish)(const ridge_gemm_args *g, int64_t i0, int64_t j0, int m, int n, const GEMM_S *t,
                                  int64_t ldt, const GEMM_S *prev, int64_t ldprev) {
#ifdef GEMM_STOREV
  if (n == GEMM_MAXN && GEMM_F(plain)(g)) { // only rounding is left
    for (int i = 0; i < m; i++, t += ldt) {
      GEMM_TC *c = (GEMM_TC *)g->C + (i0 + i) * g->ldc + j0;
      for (int j = 0; j < GEMM_MAXN; j += GEMM_LANES) {
        GEMM_F(vec) v = *(const GEMM_F(vecu) *)(t + j);
        if (prev) v += *(const GEMM_F(vecu) *)(prev + i * ldprev + j);
        GEMM_STOREV(c + j, v);
      }
    }
    return;
  }
#endif
  if (n == GEMM_MAXN)
    GEMM_F(finish_n)(g, i0, j0, m, GEMM_MAXN, t, ldt, prev, ldprev);
  else
    GEMM_F(finish_n)(g, i0, j0, m, n, t, ldt, prev, ldprev);
}
