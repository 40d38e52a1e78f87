// Holds its stream until the host lets it go on: one thread reads door[0], in page-locked memory of the host, until it has reached ticket,
// or until limit nanoseconds have passed. door[1] = ticket when it was let go, else 0. What the host enqueued behind it then
// runs without waiting for the host. FLOP: 0; a read over the bus, about a microsecond, a turn.
#include "ridge_cuda.cuh"

RIDGE_KERNEL(gate_simt, 32)(uint64_t *door, int64_t ticket, int64_t limit) {
  volatile uint64_t *word = door;
  const uint64_t start = ridge_timer();
  uint64_t seen;
  do seen = word[0];
  while (seen < (uint64_t)ticket && ridge_timer() - start < (uint64_t)limit);
  word[1] = seen >= (uint64_t)ticket ? (uint64_t)ticket : 0;
}
RIDGE_ENTRY(gate_simt)
