// The memory family: how each byte formula is met.
//
//   copy, stream_copy   y = a            2 arrays   0 FLOP    read a, write y
//   stream_scale        y = s*a          2          1
//   add_scalar          y = a + s        2          1
//   fill                y = s            1          0         write only
//   stream_add          y = a + b        3          1
//   stream_triad        y = a + s*b      3          2
//   axpy                z = s*x + y      3          2         out of place
//   transpose           y = a^T          2          0         through an L1-resident tile: outside L1 each
//                                                             element is read once and written once
//   layout              y = a^T per image    2     0         the same, image after image: NCHW [C, H*W] to NHWC or back
//   dot                 y = sum a*b      2          2         one partial line a thread besides
//   chase               y = a[...a[y]]   one line a step
//   bandwidth           the probe of the ceilings: read, write, copy, triad, and nt_ forms
//
// The bytes are those of STREAM: the read of a line before an ordinary store to it
// (write-allocate) is real traffic but not counted. Kernels named _nt store around the
// caches and so move just the counted bytes; they need whole aligned lines, so they store the
// ragged ends with ordinary stores, and end with a store fence.
//
// Nothing here can be faster than the memory it walks: the limit is the load and store ports
// in L1 and the memory system below, so the design is only wide loads and stores, unrolled
// over a few lines, and one contiguous part per thread.
#ifndef RIDGE_MEMORY_FAMILY_H
#define RIDGE_MEMORY_FAMILY_H

#include "../include/ridge_half.h"
#include "../include/ridge_memory.h"

// Bytes of a piece, where a kernel goes through several parts side by side (ridge_ctx): whole steps of every loop here.
#define MEMORY_PIECE 512

// Elements per unit of sharing in native/fill, which decides who touches a page first.
#define FILL_GRAIN 4096

// The part of n elements of the given size that a thread works on: the part that it filled,
// so that its pages are near it. Small arrays live in caches, where equal parts matter more
// than pages: they are shared by lines.
RIDGE_INLINE void memory_share(int64_t n, int64_t size, const ridge_ctx *ctx, int64_t *from, int64_t *to) {
  int64_t grain = n / ctx->nthreads >= 64 * FILL_GRAIN ? FILL_GRAIN : RIDGE_CACHE_LINE / size;
  ridge_share(n, grain, ctx->tid, ctx->nthreads, from, to);
}

// Keeps the compiler from turning a copying or filling loop into a call of memcpy or memset,
// which choose non-temporal stores on their own, and from merging passes of a probe.
#define MEMORY_OPAQUE() __asm__ volatile("" ::: "memory")

#endif
