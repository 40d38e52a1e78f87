// The 7x7 convolution of step 2 over few channels, an image network's first layer, as Winograd's F(3x3, 4x4): its transforms, in place of
// conv_winograd_turn.h, and how its inputs and filters come to be (conv_winograd_body.h has the rest).
//
//   y[i] = sum over s of w[2s] x[2i + 2s] + w[2s + 1] x[2i + 2s + 1]      s = 0 .. 3, w[7] = 0
//
// Two neighbouring inputs of a side are one input of twice the channels, over which the convolution has step 1 and four taps. In both directions that
// is four phases of C channels: up to 16, a vector of 16 floats. The phases meet in the transforms' domain: their products at a position add up, 36 * 4C for
// the 9 * 49C of 3x3 outputs. The odd phases have three taps: their product at infinity, the fourth tap's, is nothing and is left out (run_at): 126C.
//
// Points 0, +-PA, +-PB and infinity, as those of F(4x4, 3x3), whose B this is. Error, in u of sum |x*w|: of 8 sets +-a, +-b the least worst one at an image's
// corners (kernels.def); F(4x4, 4x4), which would have 11C products for an output's 49C where this has 14C, has 100 to 209 there.
// PA and PB are exact, as are their squares' products; every sum has one product that is not, so that every copy of this code rounds alike.
// Source: Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks"; Cook and Toom's construction, the points our own.
#ifndef RIDGE_CONV_WINOGRAD_STEM_H
#define RIDGE_CONV_WINOGRAD_STEM_H

#include "conv_vector.h"

#define PA 0.75f
#define PB 1.5f

// STEP: outputs of a tile's side. DEPTH: floats of a pair of rows' and columns' inputs in a window and in V, of which 4C are used.
enum { STRIDE = 1, STEP = 3, MOST = 6, TURNS = 6, TAPS = 4, DEPTH = 16 };
RIDGE_INLINE int side(const int m) { return m; }
RIDGE_INLINE int64_t span(int64_t m) { return m + 3; }
RIDGE_INLINE int64_t turn_at(int64_t point) { return point; }

// Elements of a row of V, in the order of its phases, up to the last one that is not multiplied by nothing.
RIDGE_INLINE int64_t run_at(int64_t pos, int64_t run) { return run / 4 * ((pos / MOST == MOST - 1 ? 2 : 4) - (pos % MOST == MOST - 1)); }

// B^T d: the coefficients of prod (x - other points). Tiles are whole: outputs beyond the image's are left out.
RIDGE_INLINE RIDGE_VT void turn_in(const int m, const mv d[MOST], mv t[MOST]) {
  (void)m;
  mv a = d[4] - PB * PB * d[2], b = d[3] - PB * PB * d[1], c = d[4] - PA * PA * d[2], e = d[3] - PA * PA * d[1];
  t[0] = a - PA * PA * (d[2] - PB * PB * d[0]);
  t[1] = a + PA * b, t[2] = a - PA * b;
  t[3] = c + PB * e, t[4] = c - PB * e;
  t[5] = (d[5] - PB * PB * d[3]) - PA * PA * b;
}

// A^T s: powers of the points.
RIDGE_INLINE RIDGE_VT void turn_out(const int m, const mv s[MOST], mv y[4]) {
  (void)m;
  mv a = s[1] + s[2], b = s[1] - s[2], c = s[3] + s[4], e = s[3] - s[4];
  y[0] = s[0] + (a + c);
  y[1] = PA * (b + PB / PA * e);
  y[2] = s[5] + PA * PA * (a + PB * PB / (PA * PA) * c);
}

// G g: (g0 + p g1 + p^2 g2 + p^3 g3) / prod (p - other points).
RIDGE_INLINE RIDGE_VT void turn_filter(const mv g[TAPS], mv u[TURNS]) {
  const float na = 1 / (2 * PA * PA * (PA * PA - PB * PB)), nb = 1 / (2 * PB * PB * (PB * PB - PA * PA));
  mv a = g[0] + PA * PA * g[2], b = PA * (g[1] + PA * PA * g[3]), c = g[0] + PB * PB * g[2], e = PB * (g[1] + PB * PB * g[3]);
  u[0] = 1 / (PA * PA * PB * PB) * g[0];
  u[1] = na * (a + b), u[2] = na * (a - b);
  u[3] = nb * (c + e), u[4] = nb * (c - e);
  u[5] = g[3];
}

#endif
