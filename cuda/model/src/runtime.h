// The CPU execution model, as the tests' driver sees it.
#ifndef RIDGE_MODEL_RUNTIME_H
#define RIDGE_MODEL_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

namespace ridge_model {

struct Kernel {
  const char *name;
  unsigned max_threads;
  std::vector<unsigned> params; // bytes of each: 8, or 128 of a tensor map
  void (*call)(void **);
};

// What a launch did wrong; code is the CUresult that a device would give.
struct Fault {
  int code = 0; // 0: nothing
  std::string report;
};

const Kernel *find(const char *name);

// Runs a grid, cluster after cluster, the blocks of a cluster together, every thread a fiber. A grid without clusters has clusters of one block.
Fault launch(const Kernel &k, const unsigned grid[3], const unsigned block[3], const unsigned cluster[3], unsigned dynamic_shared, void **params);

// Device memory: what kernels may touch. Fresh memory counts as uninitialised until it is written.
void memory_add(void *p, size_t bytes);
bool memory_remove(void *p);
void memory_written(void *p, size_t bytes);
// The size of the allocation that holds [p, p + bytes); 0: none does.
size_t memory_at(const void *p, size_t bytes);
void memory_clear();

} // namespace ridge_model
#endif
