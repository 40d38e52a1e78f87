// Sampling of a team's threads: two timers for each thread, in turn, interrupt it at a fixed rate, and a
// signal handler notes the time and the program counter in a ring of the thread's own.
//
// The timer counts CLOCK_MONOTONIC (timers of CPU time tick at the kernel's 100 to 1000 Hz) and
// sends a real-time signal to its thread alone (SIGEV_THREAD_ID). The Go runtime's threads never
// get it: they own no timer. The handler takes no lock, allocates nothing and calls only
// clock_gettime and read.
//
// Attaching and detaching are ridge_kernel_fn: run as steps of the team, they are executed on the
// threads that are to be sampled. A team blocks all signals in its threads; while attached, this one is let through.
#ifndef RIDGE_SAMPLE_H
#define RIDGE_SAMPLE_H

#include <stddef.h>
#include <sys/types.h>

#include "../include/ridge.h"

enum { RIDGE_SAMPLE_EVENTS = 4 };

typedef struct ridge_tick {
  int64_t at_ns;                        // CLOCK_MONOTONIC
  uint64_t pc;                          // instruction that was interrupted
  uint64_t enabled_ns, counted_ns;      // for which the thread's counters were wanted so far, and counted; 0: they were not read
  uint64_t counts[RIDGE_SAMPLE_EVENTS]; // of the thread so far, by the event's place in the sampler's list
} ridge_tick;

// An event of perf_event_open(2).
typedef struct ridge_event {
  uint32_t type;
  uint64_t config;
} ridge_event;

// What counts them: perf_event_open(2) for the calling thread in the group of that descriptor (-1: it leads one), read(2), which the
// signal handler calls, and close(2). Tests put others in their place.
struct perf_event_attr;
typedef struct ridge_perf {
  int (*open)(struct perf_event_attr *a, int group);
  ssize_t (*read)(int fd, void *to, size_t bytes);
  int (*close)(int fd);
} ridge_perf;
void ridge_sample_use_perf(const ridge_perf *p); // NULL: the system's; not while a sampler is attached

struct ridge_sampler;

// For n threads, a tick each period_ns, with a ring of at least ticks entries for each thread. Returns
// NULL with errno set.
struct ridge_sampler *ridge_sampler_create(int n, int64_t period_ns, int64_t ticks, const ridge_event *events, int nevents);
void ridge_sampler_destroy(struct ridge_sampler *s); // after detaching

// ridge_kernel_fn with the sampler as arguments.
int ridge_sample_attach(const void *sampler, const ridge_ctx *ctx);
int ridge_sample_detach(const void *sampler, const ridge_ctx *ctx);

// errno of what kept attach from working; 0.
int ridge_sampler_error(const struct ridge_sampler *s);
// After attaching: errno of why an event is not counted on one of the threads at least; 0 where it is on all.
int ridge_sampler_event_error(const struct ridge_sampler *s, int event);
// Takes up to max ticks of a thread out of its ring, oldest first.
int64_t ridge_sampler_take(struct ridge_sampler *s, int thread, ridge_tick *out, int64_t max);
// Ticks that found the ring full, and those that the timer could not deliver in time.
void ridge_sampler_missed(const struct ridge_sampler *s, int64_t *full, int64_t *late);

#endif
