// The C side of package driver. Functions return a CUresult unless they say otherwise.
#ifndef RIDGE_CUDA_DRIVER_H
#define RIDGE_CUDA_DRIVER_H
#include <stdint.h>

// Loads the library at path, fills the jump table and calls cuInit: 0 ready, > 0 cuInit's
// CUresult, -1 no library (*msg says why). *fake is set when it is the tests' driver.
int ridge_driver_open(const char *path, const char **msg, const char **fake);

// Name and text of a CUresult; never NULL.
const char *ridge_error_name(int rc);
const char *ridge_error_string(int rc);

// One kernel launch. params point to 8-byte slots, or to a 128-byte tensor map.
typedef struct ridge_launch {
  void *function;
  uint32_t grid[3], block[3], cluster[3]; // cluster 0,0,0 and 1,1,1: none
  uint32_t shared;                        // dynamic shared memory in bytes
  void **params;
} ridge_launch;

// Lets a function use so many bytes of dynamic shared memory (more than 48 KiB must be asked for).
int ridge_allow_shared(void *function, uint32_t bytes);

// Runs launches of set 0 n times and waits for the end.
int ridge_run(void *stream, const ridge_launch *list, int per_set, int n);

// Enqueues lead untimed executions of the steps, then samples batches of launches between events, and waits. The sets
// take turns, from number first on. ns[i] is the device time of batch i, *end CLOCK_MONOTONIC when the host saw the last event.
int ridge_measure(void *stream, const ridge_launch *list, int per_set, int sets, int lead, int launches, int samples,
                  int64_t first, void **events, double *ns, int64_t *end);
// Makes and destroys events for ridge_measure: n of them.
int ridge_events(void **events, int n);
void ridge_events_free(void **events, int n);

// Records n executions of set 0 as a graph and makes it launchable.
int ridge_graph_make(void *stream, const ridge_launch *list, int per_set, int n, void **exec);
int ridge_graph_run(void *exec, void *stream, int times);
int ridge_graph_free(void *exec);

// Page-locked host memory.
int ridge_pinned(void **p, uint64_t bytes);
int ridge_pinned_free(void *p);

// Encodes a tiled tensor map of 128 bytes at map (64-byte aligned) for TMA loads: rank dimensions,
// the fastest first; strides in bytes of dimensions 1..rank-1.
int ridge_tensor_map(void *map, int dtype, int rank, uint64_t address, const uint64_t *dims, const uint64_t *strides,
                     const uint32_t *box, int swizzle);
#endif
