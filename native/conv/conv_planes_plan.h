// How the convolution over planes divides its work: phases, bands of output rows, scratch of a thread.
#ifndef RIDGE_CONV_PLANES_PLAN_H
#define RIDGE_CONV_PLANES_PLAN_H

#include "conv_turn.h"

enum { NV = RIDGE_NV, MR = 4, BAND = (256 << 10) / sizeof(me) }; // BAND: elements of a copy that stay in L2 beside what else runs

// A vector of sums: where it starts in the band, its lanes that are outputs, and where these start in y's plane.
typedef struct place {
  int64_t from, at;
  int32_t lanes; // how many of VL are outputs
  uint32_t mask; // which
} place;

typedef struct shape {
  const ridge_conv_args *a;
  ridge_conv_strides st;
  int64_t cg, kg, units, red; // channels and outputs of a group; units of PAIR channels; of a filter
  int64_t joint;              // groups of a task: NHWC turns VL outputs at a time, of as many groups as have them
  int64_t phases_h, phases_w; // rows and columns of x by their remainder: a step takes every stride-th
  int64_t rows, pitch, plane; // of one phase of one unit: rows, elements of a row and of the plane
  int64_t in_place;           // x itself is read where the reads of a band end within it
  int64_t bands, high;        // bands of an image, output rows of the largest
  int64_t vectors;            // of a band
  int64_t filters;            // bytes of the filters' copy, which all threads share; 0: they are used where they lie
  int64_t o_offset, o_direct, o_place, o_sums, o_window, bytes; // scratch of a thread: byte offsets and the total
} shape;

RIDGE_INLINE int64_t round_up(int64_t n) { return (n + 63) / 64 * 64; }
RIDGE_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows of one phase that n output rows see.
RIDGE_INLINE int64_t rows_for(const ridge_conv_args *a, int64_t n) { return n + (a->R - 1) * a->dil_h / a->stride_h; }

// Elements of a row of a phase. Without a step the zeros at a row's right end are those at the left end of the next one, as far as these go.
static int64_t pitch_for(const ridge_conv_args *a) {
  const int64_t need = a->Wo + (a->S - 1) * a->dil_w / a->stride_w;
  if (a->stride_w > 1) return need;
  const int64_t right = need - a->pad_w - a->W, shared = right <= 0 ? 0 : least(right, a->pad_w);
  return need - least(shared, need - a->Wo);
}

// The least of (waves of tasks) * (rows of a band, and what copying its edges costs), of bands whose copies stay in L2.
static void divide_bands(shape *s, int nthreads) {
  const ridge_conv_args *a = s->a;
  const int64_t row = s->pitch * s->phases_h * s->phases_w * s->units * s->joint, tasks = a->N * (a->groups / s->joint);
  const int64_t edge = rows_for(a, 1), fit = BAND / row - edge;
  const int64_t first = ceil_div(a->Ho, fit < 1 ? 1 : fit);
  int64_t best = INT64_MAX;
  for (int64_t bands = first; bands <= a->Ho && bands < first + 4 * nthreads; bands++) {
    const int64_t cost = ceil_div(tasks * bands, nthreads) * (ceil_div(a->Ho, bands) * 8 + edge);
    if (cost < best) best = cost, s->bands = bands;
  }
  s->high = ceil_div(a->Ho, s->bands);
}

static shape shape_of(const ridge_conv_args *a, int nthreads) {
  shape s = {.a = a, .st = ridge_conv_layout(a), .cg = a->C / a->groups, .kg = a->K / a->groups, .joint = 1};
  s.units = ceil_div(s.cg, PAIR), s.red = s.units * a->R * a->S;
#if !defined(CONV_FP32)
  s.filters = a->K * (1 + s.red) * (int64_t)sizeof(me);
#endif
  if (a->N * a->Ho * a->Wo * a->K == 0) return s;
  if (a->layout == 1 && a->groups > 1)
    for (int64_t n = VL / s.kg; n > 1 && s.joint == 1; n--)
      if (a->groups % n == 0) s.joint = n;
  s.phases_h = a->R == 1 ? 1 : a->stride_h, s.phases_w = a->S == 1 ? 1 : a->stride_w;
  s.pitch = pitch_for(a);
#if defined(CONV_FP32)
  s.in_place = a->layout == 0 && a->stride_h == 1 && a->stride_w == 1 && a->pad_h == 0 && a->pad_w == 0;
  if (s.in_place) s.pitch = a->W;
#endif
  divide_bands(&s, nthreads);
  s.rows = rows_for(a, s.high), s.plane = s.rows * s.pitch + a->pad_w + VL; // vectors are written whole, and the zeros behind a row with those before the next
  s.vectors = ceil_div((s.high - 1) * s.pitch + a->Wo, VL);
  int64_t at = 0;
  s.o_offset = at, at += round_up(s.red * (int64_t)sizeof(int32_t));
  s.o_direct = at, at += s.in_place ? round_up(s.red * (int64_t)sizeof(int32_t)) : 0;
  s.o_place = at, at += round_up(s.vectors * (int64_t)sizeof(place));
  s.o_sums = at, at += round_up(VL * NV * VL * (int64_t)sizeof(me));
  s.o_window = at, at += round_up((s.joint * s.units * s.phases_h * s.phases_w * s.plane + s.pitch + 2 * VL) * (int64_t)sizeof(me));
  s.bytes = ridge_apart(at);
  return s;
}

#endif
