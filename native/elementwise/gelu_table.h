// GELU with tables, for vectors of 16 fp32 lanes: x Phi(x) = max(x, 0) - w(|x|), w(a) = a erfc(a/sqrt(2))/2.
//
// On 32 intervals of [0, 8], w = c0 + d (c1 + d (... + d c7)), d = a - m: m and the coefficients are looked up by the interval in tables
// that a permutation of two registers holds. No exponential, no division: per vector 8 multiply-adds, 1 product, 9 permutations, 4
// additions and maxima, where vgelu takes 24 multiply-adds and 2 divisions.
//
// Floor on Zen 5: permutations share one of their two pipes with the multiply-adds, so 18 operations on three pipes, 6 cycles a vector; 6.7 in
// a loop of these instructions without dependences, 9.8 reached (17.4 with vgelu).
//
// Intervals are even in a (a + BEND), so that they narrow as w steepens: 0.17 wide at 8, 0.5 at 0.5. m is chosen so that w(m) is a number of
// fp32 nearly without error, and the rest of the sum is at most 0.96 of w. Each fit is minimax in relative error
// (as in ridge_vecmath.h), the worst 0.13 units of 2^-24; the first interval has m = c0 = 0 and c1 = 1/2, which keeps small arguments exact.
// Worst error 1.34 ulp on every 97th float of 2^-15 to 15, either sign (vgelu 2.015).
//
// Groups with an argument beyond 8 (or NaN) take vgelu for the lanes that need it; the others keep their bits.
#ifndef RIDGE_GELU_TABLE_H
#define RIDGE_GELU_TABLE_H

#include "../include/ridge_gelu_table.h"
#include "../include/ridge_vecmath_half.h"

// t[index mod 32] of every lane.
VFN vf vlookup(const float *t, vf index) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)_mm512_permutex2var_ps(_mm512_load_ps(t), (__m512i)index, _mm512_load_ps(t + 16));
#else
  vf r;
  for (int l = 0; l < VL; l++) r[l] = t[((vi)index)[l] & 31];
  return r;
#endif
}

VFN vg vgelu_table_fast(vg x) {
  vg a, i, d, e, p, q, w;
  EACH a.v[u] = vabs(x.v[u]);
  EACH i.v[u] = vfma(a.v[u], a.v[u] + GELU_TABLE_BEND, vset(4 * RIDGE_MAGIC));
  EACH d.v[u] = a.v[u] - vlookup(gelu_table[0], i.v[u]);
#define COEFFICIENT(k) vlookup(gelu_table[(k) + 1], i.v[u])
  EACH e.v[u] = d.v[u] * d.v[u];
  EACH w.v[u] = vfma(COEFFICIENT(7), d.v[u], COEFFICIENT(6));
  EACH p.v[u] = vfma(COEFFICIENT(5), d.v[u], COEFFICIENT(4));
  EACH q.v[u] = vfma(COEFFICIENT(3), d.v[u], COEFFICIENT(2));
  EACH w.v[u] = vfma(w.v[u], e.v[u], p.v[u]);
  EACH w.v[u] = vfma(w.v[u], e.v[u], q.v[u]);
  EACH w.v[u] = vfma(w.v[u], d.v[u], COEFFICIENT(1));
  EACH w.v[u] = vfma(w.v[u], d.v[u], COEFFICIENT(0));
#undef COEFFICIENT
  EACH w.v[u] = vmax(vset(-0.0f), x.v[u]) - w.v[u];
  return w;
}

VFN int vgelu_table_bad(vg x) { return vbad(x, GELU_TABLE_END); }
VFN vg vgelu_table(vg x, int safe) {
  if (!safe) return vgelu_table_fast(x);
  const vg exact = vgelu(x, 1);
  vg in, y;
  EACH in.v[u] = vselect(vabs(x.v[u]) <= GELU_TABLE_END, x.v[u], vset(0));
  y = vgelu_table_fast(in);
  EACH y.v[u] = vselect(vabs(x.v[u]) <= GELU_TABLE_END, y.v[u], exact.v[u]);
  return y;
}

// For results rounded to bf16 (ridge_vecmath_half.h): degree 5 instead of 7, two permutations and two multiply-adds fewer.
VFN vg vgelu_half_table_fast(vg x) {
  vg a, i, d, e, p, q, w;
  EACH a.v[u] = vabs(x.v[u]);
  EACH i.v[u] = vfma(a.v[u], a.v[u] + GELU_TABLE_BEND, vset(4 * RIDGE_MAGIC));
  EACH d.v[u] = a.v[u] - vlookup(gelu_table[0], i.v[u]);
  EACH e.v[u] = d.v[u] * d.v[u];
  EACH w.v[u] = vfma(vlookup(gelu_half_table[5], i.v[u]), d.v[u], vlookup(gelu_half_table[4], i.v[u]));
  EACH p.v[u] = vfma(vlookup(gelu_half_table[3], i.v[u]), d.v[u], vlookup(gelu_half_table[2], i.v[u]));
  EACH q.v[u] = vfma(vlookup(gelu_half_table[1], i.v[u]), d.v[u], vlookup(gelu_half_table[0], i.v[u]));
  EACH w.v[u] = vfma(w.v[u], e.v[u], p.v[u]);
  EACH w.v[u] = vfma(w.v[u], e.v[u], q.v[u]);
  EACH w.v[u] = vmax(vset(-0.0f), x.v[u]) - w.v[u];
  return w;
}

VFN int vgelu_half_table_bad(vg x) { return vbad(x, GELU_TABLE_END); }
VFN vg vgelu_half_table(vg x, int safe) {
  if (!safe) return vgelu_half_table_fast(x);
  const vg other = vgelu_half(x, 1);
  vg in, y;
  EACH in.v[u] = vselect(vabs(x.v[u]) <= GELU_TABLE_END, x.v[u], vset(0));
  y = vgelu_half_table_fast(in);
  EACH y.v[u] = vselect(vabs(x.v[u]) <= GELU_TABLE_END, y.v[u], other.v[u]);
  return y;
}

#endif
