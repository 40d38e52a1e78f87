// Several queries that share K and V, on dot products of bf16 pairs (part of attention_decode.h): a K or V
// element is loaded once for four queries.
//
// Scores: 4 keys x 4 queries of sums over lanes of dimensions, folded to one vector by a tree of 15 additions; q stays
// bf16 and the sums are scaled. Weights are rounded to bf16 before they are summed (attention_dot.h). Output: the units are two
// keys' elements, made of two rows of V by two operations each; 4 queries x 2 vectors of sums.
//
// Per 16 keys, 4 queries and 32 dimensions: 64 + 64 dot products, 16 + 16 loads of K and V, 32 operations that pair V.
#ifndef RIDGE_ATTENTION_DECODE_DOT_H
#define RIDGE_ATTENTION_DECODE_DOT_H

// As score_step, of 4 keys and 4 queries that are bf16.
RIDGE_INLINE RIDGE_VT void score_step_dot(const et *const k[4], const et *const q[4], int64_t d, const vi *keep, int ask, vf acc[VL]) {
  vi kv[4];
  RIDGE_UNROLL_ALL
  for (int y = 0; y < 4; y++) {
    kv[y] = *(const pairs_any *)(k[y] + d);
    if (keep) kv[y] &= *keep;
    if (ask) __builtin_prefetch((const char *)(k[y] + d) + AHEAD);
  }
  RIDGE_UNROLL_ALL
  for (int x = 0; x < 4; x++) {
    vi qv = *(const pairs_any *)(q[x] + d);
    if (keep) qv &= *keep;
    RIDGE_UNROLL_ALL
    for (int y = 0; y < 4; y++) ATT_DOT2(acc[4 * x + y], kv[y], qv);
  }
}

// As decode_scores; q as it lies in memory.
__attribute__((noinline)) RIDGE_VT static void decode_scores_dot(int64_t D, int64_t rows, int64_t n, const et *k, const et *q, float scale, int far, float *s) {
  vi keep[FORMS]; // units: of two elements
  keep_new(D, keep);
  const vi units = (vi)((ridge_vu)keep[0] >> 16 | ((ridge_vu)keep[1] & 0xffff0000u));
  for (int64_t i = 0; i < ceil_div(n, VL); i++) {
    const group g = group_of(k, D, n, i);
    for (int64_t r0 = 0; r0 < rows; r0 += 4) {
      const et *qr[4];
      for (int x = 0; x < 4; x++) qr[x] = q + att_min(r0 + x, rows - 1) * D;
      RIDGE_UNROLL(1)
      for (int l = 0; l < g.count; l += 4) {
        const et *kr[4];
        RIDGE_UNROLL_ALL
        for (int y = 0; y < 4; y++) kr[y] = g.first + att_min(l + y, g.count - 1) * g.stride;
        vf acc[VL];
        RIDGE_UNROLL_ALL
        for (int a = 0; a < VL; a++) acc[a] = (vf){0};
        int64_t d = 0;
        for (; d + STEP <= D; d += STEP) score_step_dot(kr, qr, d, NULL, far && r0 == 0, acc);
        if (d < D) score_step_dot(kr, qr, D - STEP, &units, far && r0 == 0, acc);
        float lanes[VL];
        *(vf_any *)lanes = fold_lanes(acc) * scale;
        for (int x = 0; x < 4; x++) memcpy(s + att_min(r0 + x, rows - 1) * CHUNK + i * VL + l, lanes + 4 * x, 4 * sizeof(float));
      }
    }
  }
}

// Weights to the nearest bf16, still fp32.
RIDGE_INLINE RIDGE_VT vf round_weights(vf e) {
  ridge_vu u = (ridge_vu)e;
  return (vf)((u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u);
}

// As decode_gather, with weights that are bf16 numbers.
__attribute__((noinline)) RIDGE_VT static void decode_gather_dot(int64_t D, int64_t rows, int64_t n, const et *v, const float *s, int far, float *o) {
  const int64_t width = form_floats(D);
  for (int64_t i = 0; i < ceil_div(n, VL); i++) {
    const group g = group_of(v, D, n, i);
    if (g.count < VL) {
      decode_gather(D, rows, g.count, g.first, s + i * VL, far, o);
      continue;
    }
    for (int64_t r0 = 0; r0 < rows; r0 += 4) {
      uint32_t weights[VL / 2][4];
      float *out[4];
      for (int x = 0; x < 4; x++) {
        int64_t r = att_min(r0 + x, rows - 1);
        out[x] = o + r * width;
        for (int l = 0; l < VL; l += 2) {
          const float *p = s + r * CHUNK + i * VL + l;
          weights[l / 2][x] = ridge_float_as_u32(p[0]) >> 16 | ridge_float_as_u32(p[1]);
        }
      }
      for (int64_t d = 0; d < D; d += STEP) {
        const uint32_t(*w)[4] = weights;
        __asm__("" : "+r"(w)); // or 32 broadcasts leave the loop and push the sums out of the registers
        vf acc[4][2];
        RIDGE_UNROLL_ALL
        for (int x = 0; x < 4; x++) acc[x][0] = *(const vf_any *)(out[x] + d), acc[x][1] = *(const vf_any *)(out[x] + d + VL);
        RIDGE_UNROLL_ALL
        for (int l = 0; l < VL; l += 2) {
          const et *a = g.first + l * g.stride + step_at(D, d), *b = a + g.stride;
          if (far && r0 == 0) __builtin_prefetch((const char *)a + AHEAD), __builtin_prefetch((const char *)b + AHEAD);
          ridge_vu lo = (ridge_vu) * (const pairs_any *)a, hi = (ridge_vu) * (const pairs_any *)b;
          vi even = (vi)((lo & 0xffff) | hi << 16), odd = (vi)(lo >> 16 | (hi & 0xffff0000u));
          RIDGE_UNROLL_ALL
          for (int x = 0; x < 4; x++) {
            vi p = (int32_t)w[l / 2][x] + (vi){0};
            ATT_DOT2(acc[x][0], even, p);
            ATT_DOT2(acc[x][1], odd, p);
          }
        }
        RIDGE_UNROLL_ALL
        for (int x = 0; x < 4; x++) *(vf_any *)(out[x] + d) = acc[x][0], *(vf_any *)(out[x] + d + VL) = acc[x][1];
      }
    }
  }
}

#endif
