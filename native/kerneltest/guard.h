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
  // Where operands are packed beforehand: the function that packs them, the copy's slack as of the workspace, the pages of the operands, which
  // are inaccessible during the call, and those of the copy, which are read-only then.
  ridge_kernel_fn pack;
  const void *packed_end;
  int64_t packed_slack;
  void *operands[2], *copy;
  int64_t operand_bytes[2], copy_bytes;
} guard_step;

// What the child leaves behind; in memory shared with it.
typedef struct guard_report {
  int32_t step;     // the step that ran last
  int32_t status;   // its nonzero return code, GUARD_SLACK or GUARD_PACKED
  uint64_t address; // of a fault, 0 where the processor does not tell
  int32_t killed;   // the child outlived its alarm and was ended by SIGKILL
} guard_report;

// Bytes after the workspace, or after what is packed beforehand, were written.
enum { GUARD_SLACK = -1, GUARD_PACKED = -2 };

// Children that may be ended for standing still where not even their alarm ended them.
enum { GUARD_ATTEMPTS = 3 };

// Runs steps from..n-1 one after the other in a forked child, at most ms for all. Returns the
// child's wait status (0: every step ran to its end), or -1 with errno. A kernel that hangs is ended by SIGALRM. A child
// that outlives its alarm by a tenth stands still outside of the kernel: an emulator forked while another thread held one of its
// locks (seen with QEMU's user mode, once in thousands of forks). It is ended by SIGKILL, and another goes on from the step
// that it stood in; the last of GUARD_ATTEMPTS tells its status.
int guard_run(const guard_step *steps, int from, int n, int ms, guard_report *report);

// Calls a kernel in this process on one thread.
int guard_call(ridge_kernel_fn fn, const void *args);

#endif
