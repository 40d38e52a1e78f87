// What model.cc asks of memory.cc about one access.
#ifndef RIDGE_MODEL_MEMORY_H
#define RIDGE_MODEL_MEMORY_H

#include "runtime.h"

namespace ridge_model {

enum Access { READ, WRITE, ATOMIC, ASYNC_READ }; // ASYNC_READ: of a tensor core, past the thread that asked for it

struct Who {
  uint32_t thread; // of the cluster, from 1; from first_barrier on an mbarrier, for what a copy wrote
  uint32_t sync;   // warp barriers it has passed
  uint32_t time;   // its own time, 0 where order.cc keeps none
  const uint32_t *seen; // up to which time of every other it is behind; nullptr: not kept
};

struct Times {
  uint32_t launch, block, joined, epoch; // epoch in which the launch began, the cluster began, its blocks were last together, and of the block now
};

enum : uint8_t { UNWRITTEN, WRITTEN, IN_FLIGHT, BARRIER, LENT }; // what a byte of memory is

constexpr unsigned max_cluster = 8; // blocks

bool is_arena(const void *p); // shared memory of a block of the cluster
unsigned arena_of(const void *p); // the block's rank
// Addresses as instructions with descriptors have them: from the beginning of the block's shared memory.
uintptr_t shared_offset(const void *p);
char *shared_at_offset(unsigned block, uintptr_t offset);
Fault check_access(void *p, size_t n, size_t align, Access kind, const Who &me, const Times &t);
void shared_reset(unsigned blocks);
// Bytes that an asynchronous copy is on its way to (no access until it landed), that one reads (no write until it was waited for), or of an mbarrier.
void shared_mark(void *p, size_t n, uint8_t what);
bool shared_is(const void *p, uint8_t what); // of one byte
void memory_mark(void *p, size_t n, uint8_t what);
void shared_landed(void *p, size_t n, const Who &me, const Times &t);
// The same place in every block of the cluster, as it lies in the first one; nullptr: the arena is full.
void *shared_take(size_t bytes, const char *name);

} // namespace ridge_model
#endif
