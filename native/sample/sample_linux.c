#define _GNU_SOURCE
#include "sample.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// A real-time signal that neither glibc (32, 33), the Go runtime nor common tools (SIGRTMIN to
// SIGRTMIN+8) use.
#define SAMPLE_SIGNAL (SIGRTMIN + 9)

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

// One thread's ring. The handler, on that thread, writes head; whoever takes ticks writes tail.
typedef struct __attribute__((aligned(128))) ring {
  _Atomic uint64_t head, tail;
  _Atomic int64_t full, late;
  uint64_t mask;
  ridge_tick *ticks;
  timer_t timer[2]; // in turn, each every second tick
  int armed;        // how many of them there are
  int fd[RIDGE_SAMPLE_EVENTS], nopen;   // the group, fd[0] leads it
  int event[RIDGE_SAMPLE_EVENTS];       // which of the sampler's events each of them counts
} ring;

// What read(2) gives of a group with PERF_FORMAT_GROUP and both times.
typedef struct group {
  uint64_t n, enabled_ns, counted_ns, value[RIDGE_SAMPLE_EVENTS];
} group;

struct ridge_sampler {
  int n, nevents;
  int64_t period_ns;
  ridge_event events[RIDGE_SAMPLE_EVENTS];
  _Atomic int error, event_error[RIDGE_SAMPLE_EVENTS];
  ring *rings;
};

// The ring of this thread while it is attached. In an executable this is a load from the thread
// pointer: nothing is allocated on first use in the handler.
static __thread ring *volatile own;

static int system_open(struct perf_event_attr *a, int group) { return (int)syscall(SYS_perf_event_open, a, 0, -1, group, PERF_FLAG_FD_CLOEXEC); }

static const ridge_perf from_system = {system_open, read, close};
static ridge_perf perf = {system_open, read, close};

void ridge_sample_use_perf(const ridge_perf *p) { perf = p ? *p : from_system; }

static void on_tick(int sig, siginfo_t *info, void *context) {
  (void)sig;
  ring *r = own;
  if (!r) return; // a tick that was on its way when the thread was detached, or somebody's kill
  const int saved = errno;
  const uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
  if (info->si_code == SI_TIMER && info->si_overrun > 0)
    atomic_fetch_add_explicit(&r->late, info->si_overrun, memory_order_relaxed);
  if (head - atomic_load_explicit(&r->tail, memory_order_acquire) > r->mask) {
    atomic_fetch_add_explicit(&r->full, 1, memory_order_relaxed);
    errno = saved;
    return;
  }
  ridge_tick *t = &r->ticks[head & r->mask];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  t->at_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  const ucontext_t *u = context;
#if defined(__x86_64__)
  t->pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  t->pc = u->uc_mcontext.pc;
#endif
  if (r->nopen > 0) {
    group got = {0};
    const int whole = perf.read(r->fd[0], &got, sizeof got) > 0 && got.n == (uint64_t)r->nopen; // else enabled_ns is 0: not read
    t->enabled_ns = whole ? got.enabled_ns : 0, t->counted_ns = whole ? got.counted_ns : 0;
    for (int i = 0; i < r->nopen; i++) t->counts[r->event[i]] = got.value[i];
  }
  atomic_store_explicit(&r->head, head + 1, memory_order_release);
  errno = saved;
}

struct ridge_sampler *ridge_sampler_create(int n, int64_t period_ns, int64_t ticks, const ridge_event *events, int nevents) {
  if (n < 1 || period_ns < 1 || ticks < 1 || nevents < 0 || nevents > RIDGE_SAMPLE_EVENTS) {
    errno = EINVAL;
    return NULL;
  }
  struct ridge_sampler *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->n = n, s->period_ns = period_ns, s->nevents = nevents;
  for (int i = 0; i < nevents; i++) s->events[i] = events[i];
  uint64_t size = 1;
  while (size < (uint64_t)ticks) size *= 2;
  if (posix_memalign((void **)&s->rings, 128, (size_t)n * sizeof *s->rings)) {
    free(s);
    errno = ENOMEM;
    return NULL;
  }
  memset(s->rings, 0, (size_t)n * sizeof *s->rings);
  for (int i = 0; i < n; i++) {
    ring *r = &s->rings[i];
    r->mask = size - 1;
    if (!(r->ticks = malloc(size * sizeof *r->ticks))) {
      ridge_sampler_destroy(s);
      errno = ENOMEM;
      return NULL;
    }
    memset(r->ticks, 0, size * sizeof *r->ticks); // no page fault in the handler
  }
  // The handler stays installed: a late signal must never meet the one of the Go runtime, which
  // ends the process when it runs on a thread that Go did not make.
  struct sigaction on;
  memset(&on, 0, sizeof on);
  on.sa_sigaction = on_tick;
  on.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&on.sa_mask);
  if (sigaction(SAMPLE_SIGNAL, &on, NULL)) {
    const int why = errno;
    ridge_sampler_destroy(s);
    errno = why;
    return NULL;
  }
  return s;
}

void ridge_sampler_destroy(struct ridge_sampler *s) {
  for (int i = 0; i < s->n; i++) free(s->rings[i].ticks);
  free(s->rings);
  free(s);
}

// Counts the sampler's events on this thread, as one group of those that can be counted: the first of them leads it. Only what the
// thread does itself. An event that is refused keeps its first errno and leaves the others alone.
static void open_events(struct ridge_sampler *s, ring *r) {
  r->nopen = 0;
  for (int i = 0; i < s->nevents; i++) {
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = s->events[i].type, a.config = s->events[i].config;
    a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    a.exclude_kernel = 1, a.exclude_hv = 1;
    const int fd = perf.open(&a, r->nopen > 0 ? r->fd[0] : -1);
    if (fd < 0) {
      int zero = 0;
      atomic_compare_exchange_strong(&s->event_error[i], &zero, errno);
      continue;
    }
    r->fd[r->nopen] = fd, r->event[r->nopen++] = i;
  }
}

static void allow(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SAMPLE_SIGNAL);
  pthread_sigmask(how, &set, NULL);
}

// failed keeps the first errno.
static int failed(struct ridge_sampler *s) {
  int zero = 0;
  atomic_compare_exchange_strong(&s->error, &zero, errno);
  return RIDGE_E_SYSTEM;
}

static struct timespec span(int64_t ns) { return (struct timespec){ns / 1000000000, ns % 1000000000}; }

int ridge_sample_attach(const void *sampler, const ridge_ctx *ctx) {
  struct ridge_sampler *s = (struct ridge_sampler *)(uintptr_t)sampler;
  if (ctx->tid >= s->n) return RIDGE_E_ARG;
  ring *r = &s->rings[ctx->tid];
  struct sigevent to;
  memset(&to, 0, sizeof to);
  to.sigev_notify = SIGEV_THREAD_ID;
  to.sigev_signo = SAMPLE_SIGNAL;
  to.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
  for (r->armed = 0; r->armed < 2; r->armed++)
    if (timer_create(CLOCK_MONOTONIC, &to, &r->timer[r->armed])) return failed(s);
  open_events(s, r);
  own = r;
  allow(SIG_UNBLOCK);
  // All threads tick at once, at whole periods of the clock: the threads of a team wait for each other, so that ticks one
  // after the other would cost each of them every thread's interruption; and where the period divides that of the
  // kernel's own tick, some interrupts serve both. The kernel sets a timer anew when its signal is taken. With one timer the
  // clock's hardware would be set twice for each tick, at the end of the interrupt and then; with two, the other one's
  // time is there already, and what is set anew lies behind it.
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t first = (((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) / s->period_ns + 2) * s->period_ns;
  for (int i = 0; i < 2; i++) {
    const struct itimerspec at = {span(2 * s->period_ns), span(first + i * s->period_ns)};
    if (timer_settime(r->timer[i], TIMER_ABSTIME, &at, NULL)) return failed(s);
  }
  return RIDGE_OK;
}

int ridge_sample_detach(const void *sampler, const ridge_ctx *ctx) {
  struct ridge_sampler *s = (struct ridge_sampler *)(uintptr_t)sampler;
  if (ctx->tid >= s->n) return RIDGE_E_ARG;
  ring *r = &s->rings[ctx->tid];
  if (!r->armed) return RIDGE_OK;
  while (r->armed > 0) timer_delete(r->timer[--r->armed]);
  allow(SIG_BLOCK);
  own = NULL;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SAMPLE_SIGNAL);
  const struct timespec none = {0, 0};
  while (sigtimedwait(&set, NULL, &none) > 0) {} // a tick that was pending
  for (int i = 0; i < r->nopen; i++) perf.close(r->fd[i]);
  r->nopen = 0;
  return RIDGE_OK;
}

int ridge_sampler_error(const struct ridge_sampler *s) { return atomic_load(&((struct ridge_sampler *)(uintptr_t)s)->error); }

int ridge_sampler_event_error(const struct ridge_sampler *s, int event) { return atomic_load(&((struct ridge_sampler *)(uintptr_t)s)->event_error[event]); }

int64_t ridge_sampler_take(struct ridge_sampler *s, int thread, ridge_tick *out, int64_t max) {
  ring *r = &s->rings[thread];
  const uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
  const int64_t n = (int64_t)(atomic_load_explicit(&r->head, memory_order_acquire) - tail);
  const int64_t take = n < max ? n : max;
  for (int64_t i = 0; i < take; i++) out[i] = r->ticks[(tail + (uint64_t)i) & r->mask];
  atomic_store_explicit(&r->tail, tail + (uint64_t)take, memory_order_release);
  return take;
}

void ridge_sampler_missed(const struct ridge_sampler *s, int64_t *full, int64_t *late) {
  *full = *late = 0;
  for (int i = 0; i < s->n; i++) {
    *full += atomic_load_explicit(&s->rings[i].full, memory_order_relaxed);
    *late += atomic_load_explicit(&s->rings[i].late, memory_order_relaxed);
  }
}
