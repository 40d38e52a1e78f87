// Vectors over the channels beside rows of elements.
//
// Rows of one element a channel are one run of memory, so kernels go through them by groups of elements, whatever the channels are: row by row
// each row has an end that fills no group (rows of 10 took 30 ns, 1.3 ns an element; of 333 half of a copy's rate). The vectors come around
// instead. A group over the end of a row takes its part of them from a seam, the last GN channels followed by the first GN; fewer channels than a
// group are repeated until every group lies in them.
//
// The including file has RIDGE_VEC_LANES and RIDGE_VEC_ISA.
#ifndef RIDGE_RING_H
#define RIDGE_RING_H

#include "../include/ridge_vec.h"

enum { RING_GROUP = VU * VL, RING_ROOM = 3 * RING_GROUP }; // elements of a group; room for what ring_lay writes

typedef struct {
  int64_t period; // elements after which the vectors begin again, at least a group
  int64_t edge;   // groups that end behind it take the seam
  int64_t room;   // elements that ring_lay writes
  int repeated;   // all groups lie in those
} ring;

VFN ring ring_of(int64_t channels) {
  if (channels >= RING_GROUP) return (ring){.period = channels, .edge = channels, .room = 2 * RING_GROUP};
  const int64_t period = (RING_GROUP + channels - 1) / channels * channels;
  return (ring){.period = period, .edge = INT64_MAX, .room = period + RING_GROUP, .repeated = 1};
}

// Writes the seam of vector v, or v repeated, to `to`; elements have `size` bytes.
VFN void ring_lay(const ring *r, void *to, const void *v, int64_t channels, int64_t size) {
  char *at = to;
  if (!r->repeated) {
    memcpy(at, (const char *)v + (channels - RING_GROUP) * size, (size_t)(RING_GROUP * size));
    memcpy(at + RING_GROUP * size, v, (size_t)(RING_GROUP * size));
    return;
  }
  memcpy(at, v, (size_t)(channels * size));
  for (int64_t have = channels, more; have < r->room; have += more) {
    more = have < r->room - have ? have : r->room - have;
    memcpy(at + have * size, at, (size_t)(more * size));
  }
}

// Whether the group at channel `at` takes the seam, from element ring_seam on.
VFN int ring_on_seam(const ring *r, int64_t at) { return at + RING_GROUP > r->edge; }
VFN int64_t ring_seam(const ring *r, int64_t at) { return at + RING_GROUP - r->period; }

// The channel of the element n < RING_GROUP + 1 further on.
VFN int64_t ring_next(const ring *r, int64_t at, int64_t n) {
  at += n;
  return at < r->period ? at : at - r->period;
}

#endif
