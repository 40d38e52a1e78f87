// Runs kernels in a child process whose operands lie between inaccessible pages.
#ifndef RIDGE_GUARD_H
#define RIDGE_GUARD_H

#include "../include/ridge.h"

enum { GUARD_CANARY = 0xa5 };

// One kernel call. slack bytes after the workspace, up to the inaccessible page, hold
// GUARD_CANARY: a workspace begins on a cache line, so its end may miss the page by up to 63.
typedef struct guard_step {
  ridge_kernel_fn fn;
  const void *args;
  void *workspace;
  int64_t workspace_bytes, slack;
  int32_t nthreads;
} guard_step;

// What the child leaves behind; in memory shared with it.
typedef struct guard_report {
  int32_t step;     // the step that ran last
  int32_t status;   // its nonzero return code, or GUARD_SLACK
  uint64_t address; // of a fault, 0 where the processor does not tell
} guard_report;

enum { GUARD_SLACK = -1 }; // bytes after the workspace were written

// Runs steps from..n-1 one after the other in a forked child, at most seconds for all. Returns the
// child's wait status (0: every step ran to its end), or -1 with errno.
int guard_run(const guard_step *steps, int from, int n, int seconds, guard_report *report);

// Calls a kernel in this process on one thread.
int guard_call(ridge_kernel_fn fn, const void *args);

#endif
