// The empty parallel region of an OpenMP runtime: what it takes to hand work to its threads and
// to hear that all have finished.
#include "peer.h"
#include "ridge_probe.h"

static int region(const void *args, const ridge_ctx *ctx) {
  double *result = ((const ridge_dispatch_args *)args)->result;
#pragma omp parallel
  __asm__ volatile("" ::: "memory");
  *result = 1;
  return RIDGE_OK;
}

static const ridge_kernel table[] = {PEER_KERNEL("plain", "dispatch", "fp64", "fp64", 1, region, NULL)};

const ridge_kernel *ridge_peer_table(int *n) { return *n = 1, table; }
const char *ridge_peer_version(void) { return RUNTIME; }

// A first region on a thread that may run everywhere: the runtime takes its CPUs from it.
void ridge_peer_threads(int n, const int *cpus) {
  double done;
  const ridge_dispatch_args a = {&done};
  region(&a, NULL);
}
void ridge_peer_refilled(void) {}
void ridge_peer_finish(void) {}
void ridge_peer_release(void) {}
