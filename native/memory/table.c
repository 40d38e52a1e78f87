#include "memory.h"
#include "table.h"

#define RIDGE_KERNEL RIDGE_DECLARE
#include "kernels.def"
#undef RIDGE_KERNEL

static int large(const void *args) {
  const ridge_memory_args *g = args;
  return g->working_set > g->around;
}

// A fill reads nothing, so the cache holds more of what it writes: with a cache of 32 MiB on Zen 4 ordinary stores are 1.3 times as
// fast at 48 MiB and as fast from 56 on (of 2.2 at 32 MiB).
static int large_fill(const void *args) {
  const ridge_memory_args *g = args;
  return large(args) && g->working_set > RIDGE_AROUND;
}

// The portable probe has no non-temporal store, and does not pass an ordinary one for it.
static int ordinary_access(const void *args) {
  int32_t a = ((const ridge_memory_args *)args)->access;
  return a != RIDGE_ACCESS_NT_WRITE && a != RIDGE_ACCESS_NT_COPY && a != RIDGE_ACCESS_NT_TRIAD;
}

// One line for the partial result of each thread.
static int64_t partials(const void *args, int32_t nthreads) {
  (void)args;
  return (int64_t)nthreads * RIDGE_CACHE_LINE;
}

static const ridge_kernel table[] = {
#define RIDGE_KERNEL RIDGE_ENTRY
#include "kernels.def"
#undef RIDGE_KERNEL
};

const ridge_kernel *ridge_memory_table(void) { return table; }
int ridge_memory_table_len(void) { return sizeof table / sizeof *table; }
