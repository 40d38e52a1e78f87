// What an adapter of a C peer library exports. Its kernels keep ridge's contract (ridge.h), so
// that the same code fills, verifies and times them as ridge's own. They run on a team of one
// thread; the library's own pool supplies the other threads.
#ifndef RIDGE_PEER_H
#define RIDGE_PEER_H

#include <stdlib.h>
#include <string.h>

#include "ridge.h"

#define PEER_EXPORT __attribute__((visibility("default")))

// The adapter's kernels; *n is set to their number.
PEER_EXPORT const ridge_kernel *ridge_peer_table(int *n);
// Library, version and what it says of its code path.
PEER_EXPORT const char *ridge_peer_version(void);
// The code path of the last call, where the library tells; may be missing.
PEER_EXPORT const char *ridge_peer_path(void);
// Called once, before anything else: use n threads, on these CPUs where that is not set by the
// environment (OMP_NUM_THREADS, OMP_PLACES).
PEER_EXPORT void ridge_peer_threads(int n, const int *cpus);
// The inputs have changed: what was packed or reordered from them is to be made anew by the next call.
PEER_EXPORT void ridge_peer_refilled(void);
// Deliver results that are kept in the library's own format to the output tensors.
PEER_EXPORT void ridge_peer_finish(void);
// The arguments seen so far are about to be freed.
PEER_EXPORT void ridge_peer_release(void);

// Peers round as ridge's kernels do: c = 8 leaves room for single accumulation chains
// (native/gemm/kernels.def: 5.1 in the worst of 10^6) and for another order of operations.
#define PEER_C 8
#define PEER_KERNEL(name, ops, dtype, acc, exact, fn, sup) \
  {name, ops, dtype, acc, RIDGE_ISA_NONE, 0, PEER_C, exact, fn, NULL, sup}

static inline void *peer_alloc(size_t bytes) {
  void *p = NULL;
  return posix_memalign(&p, 1 << 21, bytes ? bytes : 1) ? NULL : p;
}

static inline float peer_bf16_up(uint16_t h) {
  uint32_t u = (uint32_t)h << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}

// Round to nearest even; the fills hold no NaN.
static inline uint16_t peer_bf16(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
