// The transforms of one side of the tiles of a convolution of step 2, in place of conv_winograd_turn.h.
//
//   y[i] = w0 e[i] + w2 e[i + 1] + w1 o[i]      e, o: the even and the odd inputs
//
// The even inputs meet two taps, which is F(m, 2) with m + 1 products; the odd ones meet one, which is m products as they are: 2m + 1 products
// for 3m, in both directions 81 for the 144 of 4x4 outputs. The points of the even inputs are 0, infinity, PA, -PA, PB. As in conv_winograd_turn.h a
// side of m outputs uses the first m + 1 of them, and factors of the points left out are in B. All odd points are multiplied by the same tap, so
// that filters have TURNS = 6 transforms a side, no more than at step 1. Points of both phases stand in an order that makes those of a shorter side
// the first ones: even 0, 1, 2, odd 0, 1; even 3, odd 2; even 4, odd 3.
// PA and PB are powers of two: products with them are exact, and every copy of this code rounds alike.
// Source: Cook and Toom's construction for each phase; the phases are those of Huang et al. 2020, "DWM: A Decomposable Winograd Method for
// Convolution Acceleration", points and nesting our own.
#ifndef RIDGE_CONV_WINOGRAD_PHASES_H
#define RIDGE_CONV_WINOGRAD_PHASES_H

#include "conv_vector.h"

#define PA 1.0f
#define PB 2.0f

enum { STRIDE = 2, MOST = 9, TURNS = 6 };
RIDGE_INLINE int side(const int m) { return m; }
RIDGE_INLINE int64_t span(int64_t m) { return 2 * m + 1; }
RIDGE_INLINE int64_t turn_at(int64_t point) {
  static const uint8_t at[MOST] = {0, 1, 2, 5, 5, 3, 5, 4, 5};
  return at[point];
}

// B^T d of a column or row of 2m + 1 inputs: for the even ones the coefficients of prod (x - other points).
RIDGE_INLINE RIDGE_VT void turn_in(const int m, const mv d[MOST], mv t[MOST]) {
  t[3] = d[1], t[4] = d[3];
  if (m > 2) t[6] = d[5];
  if (m > 3) t[8] = d[7];
  if (m == 4) {
    mv e = d[6] - PB * d[4], f = d[4] - PB * d[2];
    t[0] = e - PA * PA * (d[2] - PB * d[0]), t[1] = d[8] - PB * d[6] - PA * PA * f;
    t[2] = e + PA * f, t[5] = e - PA * f;
    t[7] = d[6] - PA * PA * d[2];
  } else if (m == 3) { // without PB: a factor of (p - PB)
    t[0] = -PB * (d[4] - PA * PA * d[0]), t[1] = d[6] - PA * PA * d[2];
    t[2] = (PA - PB) * (d[4] + PA * d[2]), t[5] = (-PA - PB) * (d[4] - PA * d[2]);
  } else { // without -PA and PB: a factor of (p + PA) (p - PB)
    t[0] = -PA * PB * (d[2] - PA * d[0]), t[1] = d[4] - PA * d[2];
    t[2] = 2 * PA * (PA - PB) * d[2];
  }
}

// A^T s: powers of the points, and the odd inputs' products.
RIDGE_INLINE RIDGE_VT void turn_out(const int m, const mv s[MOST], mv y[4]) {
  if (m == 2) {
    y[0] = s[0] + s[2] + s[3], y[1] = s[1] + PA * s[2] + s[4];
    return;
  }
  mv a = s[2] + s[5], b = s[2] - s[5];
  if (m == 3) {
    y[0] = s[0] + a + s[3], y[1] = PA * b + s[4], y[2] = s[1] + PA * PA * a + s[6];
    return;
  }
  y[0] = s[0] + a + (s[7] + s[3]), y[1] = PA * b + (PB * s[7] + s[4]);
  y[2] = PA * PA * a + (PB * PB * s[7] + s[6]), y[3] = s[1] + PA * PA * PA * b + (PB * PB * PB * s[7] + s[8]);
}

// G g: (g0 + p g2) / prod (p - other points), and the tap of the odd inputs.
RIDGE_INLINE RIDGE_VT void turn_filter(const int points, const mv g[3], mv u[TURNS]) {
  (void)points;
  const float na = 1 / (2 * PA * PA * (PA - PB)), nc = -1 / (2 * PA * PA * (PA + PB)), nb = 1 / (PB * (PB * PB - PA * PA));
  u[0] = 1 / (PA * PA * PB) * g[0], u[1] = g[2];
  u[2] = na * (g[0] + PA * g[2]), u[3] = nc * (g[0] - PA * g[2]), u[4] = nb * (g[0] + PB * g[2]);
  u[5] = g[1];
}

#endif
