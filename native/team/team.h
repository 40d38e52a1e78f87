// A persistent team of pinned threads. The team runs steps (kernels with their arguments)
// launch after launch with a barrier after each step, and takes the timestamps itself at
// the barrier, so that neither cgo nor the Go scheduler is inside the window.
#ifndef RIDGE_TEAM_H
#define RIDGE_TEAM_H

#include "../include/ridge.h"

typedef struct ridge_step {
  ridge_kernel_fn fn;
  const void *args;
  void *workspace;
  int64_t workspace_bytes;
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
void ridge_team_destroy(struct ridge_team *t);
// CPU thread i could be pinned to, -1 when it is not pinned.
int ridge_team_cpu(const struct ridge_team *t, int i);

// Takes samples samples of launches launches. Launch l runs the nsteps steps of set
// l mod sets: steps[set * nsteps + s]. Returns 0 or the first nonzero kernel status.
// *stop is read between samples: nonzero ends early; *done tells how many samples are whole.
int ridge_team_run(struct ridge_team *t, const ridge_step *steps, int nsteps, int sets, int64_t launches,
                   int samples, ridge_sample *out, const int32_t *stop, int *done);

// Restores default actions for the signals of a crash and switches core dumps off, so that
// a kernel that crashes ends the process by its signal. Called once by worker processes.
void ridge_team_default_signals(void);

#endif
