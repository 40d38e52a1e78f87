// A persistent team of pinned threads. The team runs steps (kernels with their arguments)
// launch after launch with a barrier after each step (but for those of one thread alone, see ridge_step), and takes the timestamps itself at
// the barrier, so that neither cgo nor the Go scheduler is inside the window.
#ifndef RIDGE_TEAM_H
#define RIDGE_TEAM_H

#include "../include/ridge.h"

typedef struct ridge_step {
  ridge_kernel_fn fn;
  const void *args;
  void *workspace;
  int64_t workspace_bytes;
  int32_t alone; // 1: thread 0 runs it as a team of one; between two such steps the team does not meet
} ridge_step;

typedef struct ridge_sample {
  int64_t start_ns, end_ns; // CLOCK_MONOTONIC
  int64_t switches;         // involuntary context switches of all threads; -1 unknown
  int64_t run_delay_ns;     // longest time a thread was runnable but not running; -1 unknown
} ridge_sample;

struct ridge_team;

// Creates n threads, thread i pinned to cpus[i] (cpus NULL or cpus[i] < 0: not pinned).
// Returns NULL with errno set.
struct ridge_team *ridge_team_create(int n, const int *cpus);
// What kernels find as ahead and runs in their context; 0 after creation. Between calls only.
void ridge_team_set_reading(struct ridge_team *t, int ahead, int runs);
void ridge_team_destroy(struct ridge_team *t);
// CPU thread i could be pinned to, -1 when it is not pinned.
int ridge_team_cpu(const struct ridge_team *t, int i);

// 1 when the team's threads flush denormal numbers to zero, 0 when not, -1 unknown.
int ridge_team_flushes_denormals(const struct ridge_team *t);

// One call: samples samples of launches launches. A launch runs the nsteps steps of one set,
// steps[set * nsteps + s]; sets take turns, over samples and, through set, over calls.
typedef struct ridge_run {
  const ridge_step *steps;
  int nsteps, sets;
  int set;            // the set that is next; updated
  int64_t settle_ns;  // spun before anything else, so that whoever made the call is asleep again
  int64_t lead;       // untimed launches before the first sample
  int64_t launches;
  int samples;
  ridge_sample *out;
  const int32_t *stop; // NULL or read between samples: nonzero ends early
  int done;            // whole samples taken
} ridge_run;

// Begins a call and returns at once. run and all that it names stay until ridge_team_finish has returned.
void ridge_team_start(struct ridge_team *t, const ridge_run *run);
// An eventfd that becomes readable when the call that was started has ended; -1 where the system gave none. It belongs to the caller, who
// closes it after ridge_team_destroy.
int ridge_team_event(const struct ridge_team *t);
// Waits for the end of the call that was started. Returns 0 or the first nonzero kernel status.
int ridge_team_finish(struct ridge_team *t, ridge_run *run);

// Restores default actions for the signals of a crash and switches core dumps off, so that
// a kernel that crashes ends the process by its signal. Called once by worker processes.
void ridge_team_default_signals(void);

#endif
