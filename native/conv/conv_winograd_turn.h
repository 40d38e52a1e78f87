// The transforms of one side of Winograd's tiles: F(4, 3), and F(3, 3) and F(2, 3) at fewer of its points.
//
//   y = A^T [ (G g) . (B^T d) ]      m outputs y, m + 2 inputs d, 3 filter elements g, m + 2 points
//
// The points are 0, PA, -PA, infinity, PB, -PB, in this order: a side of m outputs uses the first m + 2 of them. So short tiles are multiplied by the
// same transformed filters: where F(m, 3) itself would divide by the product of (p - other points), that of all six stands in G, and what it
// has too much, the product of (p - points left out), is in B. Where all tiles are of two outputs (FEW) they have points of their own, 0, 1, -1 and
// infinity: errors of a fifth (2.5 u of sum |x*w| for 12 at worst, images of positive numbers).
// Squares and products of 5/8 and 5/4 are exact in fp32. Inner factors are powers of two, whose products are exact, or stand in nested forms, so that
// every copy of this code rounds alike, whichever product a compiler fuses with a sum.
// Source: Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks"; Cook and Toom's construction, with points of our own.
#ifndef RIDGE_CONV_WINOGRAD_TURN_H
#define RIDGE_CONV_WINOGRAD_TURN_H

#include "conv_vector.h"

#define PA 0.625f
#define PB 1.25f

// The sizes of a side m: 4, 3 or 2 outputs at the six points, or FEW. MOST: inputs and points of a side, at most. TURNS: of its filters' transform.
enum { FEW = 1, STRIDE = 1, MOST = 6, TURNS = 6 };
RIDGE_INLINE int side(const int m) { return m == FEW ? 2 : m; }

// Inputs of a side of m outputs, and its points; the filters' point that is multiplied at one of them.
RIDGE_INLINE int64_t span(int64_t m) { return m + 2; }
RIDGE_INLINE int64_t turn_at(int64_t point) { return point; }

// B^T d of a column or row: the coefficients of prod (x - other points).
RIDGE_INLINE RIDGE_VT void turn_in(const int m, const mv d[MOST], mv t[MOST]) {
  if (m == 4) {
    mv a = d[4] - PB * PB * d[2], b = d[3] - PB * PB * d[1], c = d[4] - PA * PA * d[2], e = d[3] - PA * PA * d[1];
    t[0] = PA * PA * PB * PB * d[0] + (d[4] - (PA * PA + PB * PB) * d[2]);
    t[1] = a + PA * b, t[2] = a - PA * b;
    t[3] = PA * PA * PB * PB * d[1] + (d[5] - (PA * PA + PB * PB) * d[3]);
    t[4] = c + PB * e, t[5] = c - PB * e;
  } else if (m == 3) { // without -PB: a factor of (p + PB)
    mv a = d[2] - PB * d[1], b = d[3] - PB * d[2], c = d[4] - PB * d[3], e = d[3] - PA * PA * d[1], f = d[2] - PA * PA * d[0];
    t[0] = PB * (e - PB * f);
    t[1] = (PB + PA) * (b + PA * a), t[2] = (PB - PA) * (b - PA * a);
    t[3] = c - PA * PA * a;
    t[4] = 2 * PB * e;
  } else if (m == FEW) {
    t[0] = d[0] - d[2], t[1] = d[1] + d[2], t[2] = d[2] - d[1], t[3] = d[3] - d[1];
  } else { // without PB and -PB: a factor of (p^2 - PB^2)
    t[0] = -PB * PB * (d[2] - PA * PA * d[0]);
    t[1] = (PA * PA - PB * PB) * (d[2] + PA * d[1]), t[2] = (PA * PA - PB * PB) * (d[2] - PA * d[1]);
    t[3] = d[3] - PA * PA * d[1];
  }
}

// A^T s: powers of the points.
RIDGE_INLINE RIDGE_VT void turn_out(const int m, const mv s[MOST], mv y[4]) {
  mv a = s[1] + s[2], b = s[1] - s[2];
  if (m == 4) {
    mv c = s[4] + s[5], d = s[4] - s[5];
    y[0] = s[0] + a + c, y[1] = PA * (b + PB / PA * d);
    y[2] = PA * PA * (a + PB * PB / (PA * PA) * c), y[3] = s[3] + PA * PA * PA * (b + PB * PB * PB / (PA * PA * PA) * d);
  } else if (m == 3) {
    y[0] = s[0] + a + s[4], y[1] = PA * (b + PB / PA * s[4]), y[2] = s[3] + PA * PA * (a + PB * PB / (PA * PA) * s[4]);
  } else {
    y[0] = s[0] + a, y[1] = m == FEW ? s[3] + b : s[3] + PA * b;
  }
}

// G g: (g0 + p g1 + p^2 g2) / prod (p - other points). points: 6, or FEW's 4.
RIDGE_INLINE RIDGE_VT void turn_filter(const int points, const mv g[3], mv u[TURNS]) {
  const float na = 1 / (2 * PA * PA * (PA * PA - PB * PB)), nb = 1 / (2 * PB * PB * (PB * PB - PA * PA));
  if (points == 4) {
    mv a = 0.5f * (g[0] + g[2]), b = 0.5f * g[1];
    u[0] = g[0], u[1] = a + b, u[2] = a - b, u[3] = g[2];
    return;
  }
  mv a = na * g[0] + na * PA * PA * g[2], b = na * PA * g[1], c = nb * g[0] + nb * PB * PB * g[2], d = nb * PB * g[1];
  u[0] = 1 / (PA * PA * PB * PB) * g[0], u[1] = a + b, u[2] = a - b, u[3] = g[2], u[4] = c + d, u[5] = c - d;
}

#endif
