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

// One kernel launch, or a copy between page-locked memory of the host and the device. params point to 8-byte slots, or to a 128-byte tensor map.
enum { RIDGE_NO_COPY, RIDGE_TO_DEVICE, RIDGE_TO_HOST };
typedef struct ridge_launch {
  int copy; // RIDGE_NO_COPY: a launch
  uint64_t to, from, bytes;
  void *function;
  uint32_t grid[3], block[3], cluster[3]; // cluster 0,0,0 and 1,1,1: none
  uint32_t shared;                        // dynamic shared memory in bytes
  void **params;
} ridge_launch;

// Lets a function use so many bytes of dynamic shared memory (more than 48 KiB must be asked for).
int ridge_allow_shared(void *function, uint32_t bytes);

// Runs launches of set 0 n times and waits for the end.
int ridge_run(void *stream, const ridge_launch *list, int per_set, int n);

// What ridge_measure shall do, and its answers.
typedef struct ridge_timing {
  int lead, launches, samples;
  int64_t first; // number of the first execution: the sets take turns
  void **events; // samples + 2
  void **graphs; // samples + 1: of the lead (NULL there: launch by launch) and of each sample; NULL: all launch by launch

  // The gate: a kernel that holds the stream until door[0] is ticket, and leaves it in door[1] unless it gave up.
  const ridge_launch *gate; // NULL: none
  volatile uint64_t *door;
  uint64_t ticket;
  int ahead; // operations that are enqueued behind the gate at most before it is opened

  double *ns;                // of each sample, by the device's clock
  double lead_ns;            // of the lead
  int64_t anchor, end;       // CLOCK_MONOTONIC when the gate was opened (0: no gate), and when the host saw the last event
  int operations, behind;    // enqueued in all, and behind the closed gate
  int gave_up;               // the gate: it waited for longer than its limit
} ridge_timing;

// Enqueues the lead, then samples batches of executions between events, opens the gate, and waits.
int ridge_measure(void *stream, const ridge_launch *list, int per_set, int sets, ridge_timing *t);

// Tasks for a resident kernel(result, door, first, count, limit), whose slots of first and count are filled by who asks.
typedef struct ridge_handover {
  const ridge_launch *kernel;
  volatile uint64_t *door; // [0] the task handed over last, [1] the one done last
  uint64_t first;
  int lead, launches, samples;
  int64_t limit_ns; // for the answer to one task
  int64_t *edges;   // CLOCK_MONOTONIC at the beginning of the first sample and at the end of each
  int gave_up;      // no answer came in time
} ridge_handover;

// Launches the kernel and hands it lead + samples * launches tasks, each when the one before was answered.
int ridge_hand_over(void *stream, ridge_handover *h);

// Launches on a stream of high priority while one of low priority keeps the device busy.
typedef struct ridge_beside {
  void *low, *high;
  const ridge_launch *fill; // two: the first begins, and the second, again and again, keeps the device full
  int fills;                // launches of the second
  const ridge_launch *kernel;
  int lead, launches; // untimed and timed
  void **events;      // three
  double ns;          // of the timed launches
  int64_t end;        // CLOCK_MONOTONIC when the host saw their end
  int full;           // the low stream was still at work then
} ridge_beside;

// Fills the low stream, and when its first launch is done launches on the high one.
int ridge_launch_beside(ridge_beside *b);

// The priorities that streams may have; the lower number is the greater priority.
int ridge_priorities(int *least, int *greatest);
int ridge_stream(int priority, void **stream);
int ridge_stream_free(void *stream);

// The times in ns of n events recorded one after another, since the first.
int ridge_event_times(void *stream, void **events, int n, double *ns);

// Makes and destroys events for ridge_measure: n of them.
int ridge_events(void **events, int n);
void ridge_events_free(void **events, int n);

// Records n executions from number first on as a graph and makes it launchable.
int ridge_graph_make(void *stream, const ridge_launch *list, int per_set, int sets, int64_t first, int n, void **exec);
int ridge_graph_run(void *exec, void *stream, int times);
int ridge_graph_free(void *exec);

// Page-locked host memory.
int ridge_pinned(void **p, uint64_t bytes);
int ridge_pinned_free(void *p);
int ridge_pinned_free_at(uint64_t address);

// Encodes a tiled tensor map of 128 bytes at map (64-byte aligned) for TMA loads: rank dimensions,
// the fastest first; strides in bytes of dimensions 1..rank-1.
int ridge_tensor_map(void *map, int dtype, int rank, uint64_t address, const uint64_t *dims, const uint64_t *strides,
                     const uint32_t *box, int swizzle, int promotion);
#endif
