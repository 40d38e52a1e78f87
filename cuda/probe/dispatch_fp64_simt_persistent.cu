// result[0] = 1, count times, each when the host asks for it: a kernel that stays on the device and takes its tasks from memory that it shares
// with the host. door[0] is the number of the task that the host has handed over last, door[1] of the last one done; both lie in page-locked
// memory of the host. The first task is first + 1. It gives up when no task came for limit nanoseconds.
//
// One thread of one multiprocessor. A task costs its read of door[0] across the bus (the host's word is seen by the next read that begins after
// it, one way there and one back), the store to the device's memory, the fence and the answer's way. Predicted: 1.5 to 2.5 us from the
// host's word to the answer in its sight (not yet measured), of which launches on a stream back to back show less, since they overlap.
// FLOP: 0.
#include "ridge_cuda.cuh"

static __device__ __forceinline__ void before_the_answer() {
#if !defined(RIDGE_MODEL)
  __threadfence_system(); // the task's work, for who has seen the answer
#endif
}

RIDGE_KERNEL(dispatch_fp64_simt_persistent, 32)(double *result, uint64_t *door, int64_t first, int64_t count, int64_t limit) {
  if (threadIdx.x != 0) return;
  volatile uint64_t *word = door;
  for (int64_t task = first + 1; task <= first + count; task++) {
    const uint64_t start = ridge_timer();
    while (word[0] < (uint64_t)task)
      if (ridge_timer() - start >= (uint64_t)limit) return;
    result[0] = 1;
    before_the_answer();
    word[1] = (uint64_t)task;
  }
}
RIDGE_ENTRY(dispatch_fp64_simt_persistent)
