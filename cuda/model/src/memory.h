// What model.cc asks of memory.cc about one access.
#ifndef RIDGE_MODEL_MEMORY_H
#define RIDGE_MODEL_MEMORY_H

#include "runtime.h"

namespace ridge_model {

enum Access { READ, WRITE, ATOMIC };

struct Who {
  uint32_t thread; // of the block, from 1
  uint32_t sync;   // warp barriers it has passed
};

struct Times {
  uint32_t launch, block, epoch; // epoch in which the launch began, the block began, and now
};

bool is_arena(const void *p); // shared memory
Fault check_access(void *p, size_t n, size_t align, Access kind, const Who &me, const Times &t);
void shared_reset();
// Bytes of shared memory that an asynchronous copy is on its way to: no access until it landed.
void shared_in_flight(void *p, size_t n);
void shared_landed(void *p, size_t n, const Who &me, const Times &t);
void *shared_take(size_t bytes, const char *name); // nullptr: the arena is full

} // namespace ridge_model
#endif
