// The 7x7 convolution of step 2 over few channels, an image network's first layer, as Winograd's F(4x4, 4x4): its transforms, in place of
// conv_winograd_turn.h, and how its inputs and filters come to be (conv_winograd_body.h has the rest).
//
//   y[i] = sum over s of w[2s] x[2i + 2s] + w[2s + 1] x[2i + 2s + 1]      s = 0 .. 3, w[7] = 0
//
// Two neighbouring inputs of a side are one input of twice the channels, over which the convolution has step 1 and four taps. In both directions that
// is four phases of C channels: up to 16, a vector of 16 floats. The phases meet in the transforms' domain: their products at a position add up, 49 * 4C for the 16 * 49C of
// 4x4 outputs, a quarter. (Each phase at points of its own, as conv_winograd_phases.h has them, would be 13 * 13 = 169 positions of C products each: fewer
// of them to a sum that is stored and loaded again.)
//
// Points 0, 1, -1, 2, -2, PC and infinity: in a search of 1,950 sets of 0, +-a, +-b, c the least rms error, 2.0 u of sum |x*w| (F(4x4, 3x3): 0.9).
// PC = 3/8 is exact, as are its products with what is a power of two; every sum has one product that is not, so that every copy of this code rounds alike.
// Source: Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks"; Cook and Toom's construction, the points our own.
#ifndef RIDGE_CONV_WINOGRAD_STEM_H
#define RIDGE_CONV_WINOGRAD_STEM_H

#include "conv_vector.h"

#define PC 0.375f

// DEPTH: floats of a pair of rows' and columns' inputs in a window and in V, of which 4C are used.
enum { STRIDE = 1, MOST = 7, TURNS = 7, TAPS = 4, DEPTH = 16 };
RIDGE_INLINE int side(const int m) { return m; }
RIDGE_INLINE int64_t span(int64_t m) { return m + 3; }
RIDGE_INLINE int64_t turn_at(int64_t point) { return point; }

// B^T d: the coefficients of prod (x - other points). Tiles are whole: outputs beyond the image's are left out.
RIDGE_INLINE RIDGE_VT void turn_in(const int m, const mv d[MOST], mv t[MOST]) {
  (void)m;
  mv one[5], four[3], q[3]; // shifted: x^2 - 1, x^2 - 4 from x on, both
  RIDGE_UNROLL_ALL
  for (int k = 0; k < 5; k++) one[k] = d[k + 2] - d[k];
  RIDGE_UNROLL_ALL
  for (int k = 0; k < 3; k++) four[k] = d[k + 3] - 4 * d[k + 1], q[k] = one[k + 2] - 4 * one[k];
  mv a = four[1] - PC * four[0], b = four[2] - PC * four[1], c = one[2] - PC * one[1], e = one[3] - PC * one[2];
  t[0] = q[1] - PC * q[0];
  t[1] = b + a, t[2] = b - a;
  t[3] = e + 2 * c, t[4] = e - 2 * c;
  t[5] = q[1];
  t[6] = q[2] - PC * q[1];
}

// A^T s: powers of the points.
RIDGE_INLINE RIDGE_VT void turn_out(const int m, const mv s[MOST], mv y[4]) {
  (void)m;
  mv a = s[1] + s[2], b = s[1] - s[2], c = s[3] + s[4], e = s[3] - s[4];
  y[0] = s[0] + s[5] + (a + c);
  y[1] = (b + 2 * e) + PC * s[5];
  y[2] = (a + 4 * c) + PC * PC * s[5];
  y[3] = (b + 8 * e) + s[6] + PC * PC * PC * s[5];
}

// G g: (g0 + p g1 + p^2 g2 + p^3 g3) / prod (p - other points).
RIDGE_INLINE RIDGE_VT void turn_filter(const mv g[TAPS], mv u[TURNS]) {
  mv a = g[0] + g[2], b = g[1] + g[3], c = g[0] + 4 * g[2], e = 2 * (g[1] + 4 * g[3]);
  u[0] = 1 / (-4 * PC) * g[0];
  u[1] = 1 / (-6 * (1 - PC)) * (a + b), u[2] = 1 / (6 * (1 + PC)) * (a - b);
  u[3] = 1 / (24 * (2 - PC)) * (c + e), u[4] = 1 / (-24 * (2 + PC)) * (c - e);
  u[5] = 1 / (PC * (PC * PC - 1) * (PC * PC - 4)) * (((g[3] * PC + g[2]) * PC + g[1]) * PC + g[0]);
  u[6] = g[3];
}

#endif
