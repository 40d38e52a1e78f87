#define _GNU_SOURCE
#include "team.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define cpu_relax() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define cpu_relax() __asm__ volatile("yield" ::: "memory")
#else
#define cpu_relax() ((void)0)
#endif

// How long a waiter spins before it sleeps on the futex, by the clock, for a spin hint takes 1
// to 140 cycles. Long enough that steps of one sample never sleep on a quiet machine, short
// enough that a waiter whose partner lost its CPU gives the core away.
#define SPIN_NS 100000

typedef struct __attribute__((aligned(128))) word {
  _Atomic uint32_t v;
} word;

typedef struct __attribute__((aligned(128))) member {
  struct ridge_team *team;
  pthread_t thread;
  int tid, cpu;
  int flush;                   // what flushes_denormals said on this thread
  int schedstat;               // /proc/thread-self/schedstat
  int64_t switches, run_delay; // counters at the last reading
  int64_t d_switches, d_delay; // difference over the last sample
} member;

struct ridge_team {
  int n, ahead, runs;
  word arrived, generation, sleepers; // barrier
  word job, job_sleepers, finished;   // hand-over between caller and team
  _Atomic int quit;
  _Atomic int status;
  ridge_run run;
  int set, done; // next set and whole samples, written by thread 0
  int stopping;
  int event; // eventfd, written when the last member has finished a job; -1: none
  int64_t spin_ns;
  member *m;
};

static int64_t now_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void futex_wait(_Atomic uint32_t *p, uint32_t old) { syscall(SYS_futex, p, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0); }
static void futex_wake(_Atomic uint32_t *p) { syscall(SYS_futex, p, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0); }

static void wait_change(word *w, uint32_t old, word *sleepers, int64_t spin_ns) {
  for (int64_t from = 0;;) {
    for (int i = 0; i < 64; i++) {
      if (atomic_load_explicit(&w->v, memory_order_acquire) != old) return;
      cpu_relax();
    }
    int64_t at = now_ns();
    if (from == 0) from = at;
    if (at - from >= spin_ns) break;
  }
  atomic_fetch_add(&sleepers->v, 1);
  while (atomic_load(&w->v) == old) futex_wait(&w->v, old);
  atomic_fetch_sub(&sleepers->v, 1);
}

static void advance(word *w, word *sleepers) {
  atomic_fetch_add(&w->v, 1);
  if (atomic_load(&sleepers->v)) futex_wake(&w->v);
}

static void barrier(struct ridge_team *t, int32_t tid) {
  (void)tid;
  uint32_t gen = atomic_load_explicit(&t->generation.v, memory_order_relaxed);
  if (atomic_fetch_add(&t->arrived.v, 1) + 1 == (uint32_t)t->n) {
    atomic_store_explicit(&t->arrived.v, 0, memory_order_relaxed);
    advance(&t->generation, &t->sleepers);
  } else {
    wait_change(&t->generation, gen, &t->sleepers, t->spin_ns);
  }
}

// The start and the end of a sample: a barrier at which the leader waits for the others
// without sleeping, reads the clock, and then releases them. So neither a wake-up nor its
// latency lies inside a sample: at the start the clock is read before the release, at the end
// when the last thread has arrived. With more threads than CPUs nobody spins, and a sample holds the others' wake-up.
static int64_t line(struct ridge_team *t, int tid) {
  if (t->n == 1) return now_ns();
  uint32_t gen = atomic_load_explicit(&t->generation.v, memory_order_relaxed);
  if (tid != 0) {
    atomic_fetch_add(&t->arrived.v, 1);
    wait_change(&t->generation, gen, &t->sleepers, t->spin_ns);
    return 0;
  }
  int64_t from = 0;
  while (atomic_load_explicit(&t->arrived.v, memory_order_acquire) != (uint32_t)t->n - 1)
    for (int i = 0; i < 64; i++) {
      if (atomic_load_explicit(&t->arrived.v, memory_order_acquire) == (uint32_t)t->n - 1) break;
      cpu_relax();
      if (i < 63) continue;
      int64_t at = now_ns();
      if (from == 0) from = at;
      if (at - from >= t->spin_ns) sched_yield(); // more threads than CPUs: one of them needs this one
    }
  atomic_store_explicit(&t->arrived.v, 0, memory_order_relaxed);
  int64_t at = now_ns();
  advance(&t->generation, &t->sleepers);
  return at;
}

static void read_counters(member *m) {
  struct rusage ru;
  int64_t sw = -1, delay = -1;
  if (getrusage(RUSAGE_THREAD, &ru) == 0) sw = ru.ru_nivcsw;
  if (m->schedstat >= 0) {
    char b[96];
    ssize_t k = pread(m->schedstat, b, sizeof b - 1, 0);
    if (k > 0) {
      b[k] = 0;
      char *sp = strchr(b, ' ');
      if (sp) delay = strtoll(sp + 1, NULL, 10);
    }
  }
  m->d_switches = sw >= 0 && m->switches >= 0 ? sw - m->switches : -1;
  m->d_delay = delay >= 0 && m->run_delay >= 0 ? delay - m->run_delay : -1;
  m->switches = sw;
  m->run_delay = delay;
}

// Keeps the first status that is not RIDGE_OK.
static void failed(struct ridge_team *t, int rc) {
  int zero = 0;
  if (rc) atomic_compare_exchange_strong(&t->status, &zero, rc);
}

// One step on one thread.
static void take(member *m, const ridge_step *st, ridge_ctx *ctx) {
  if (st->alone && m->tid != 0) return;
  ctx->workspace = st->workspace;
  ctx->workspace_bytes = st->workspace_bytes;
  if (st->alone) ctx->nthreads = 1;
  const int rc = st->fn(st->args, ctx);
  ctx->nthreads = m->team->n;
  failed(m->team, rc);
}

// Launches of one step by one thread, others being at the line or not there: nothing stands between two but the call, which for a product of 8x8x8 is
// a third of what the general loop takes.
static void repeat(member *m, const ridge_step *st, ridge_ctx *ctx, int64_t launches) {
  if (st->alone && m->tid != 0) return;
  const ridge_kernel_fn fn = st->fn;
  const void *args = st->args;
  ctx->workspace = st->workspace;
  ctx->workspace_bytes = st->workspace_bytes;
  ctx->nthreads = 1;
  int rc = 0;
  for (int64_t left = launches; left > 0 && !rc; left--) rc = fn(args, ctx);
  ctx->nthreads = m->team->n;
  failed(m->team, rc);
}

// Runs launches of the sets in turn from *set on, a barrier after each step and a line after
// the last; returns the leader's time at that line. Between two steps of the leader alone nobody waits for anybody: the others are at the next
// step that is theirs, or at the line, where they may fall asleep, for the leader reads the clock there before it wakes them.
static int64_t launch(member *m, ridge_ctx *ctx, int *set, int64_t launches) {
  struct ridge_team *t = m->team;
  const ridge_run *r = &t->run;
  if (r->nsteps == 0) return line(t, m->tid);
  if (r->nsteps == 1 && r->sets == 1 && (t->n == 1 || r->steps->alone)) {
    repeat(m, r->steps, ctx, launches);
    return line(t, m->tid);
  }
  for (int64_t left = launches;;) {
    const ridge_step *st = r->steps + (int64_t)*set * r->nsteps;
    if (++*set == r->sets) *set = 0;
    for (int k = 0; k < r->nsteps; k++, st++) {
      take(m, st, ctx);
      const ridge_step *next = k + 1 < r->nsteps ? st + 1 : r->steps + (int64_t)*set * r->nsteps;
      if (k + 1 == r->nsteps && --left == 0) return line(t, m->tid);
      if (t->n > 1 && !(st->alone && next->alone)) barrier(t, m->tid);
    }
  }
}

static void spin_until(int64_t at) {
  while (now_ns() < at) cpu_relax();
}

static void run_job(member *m) {
  struct ridge_team *t = m->team;
  const ridge_run *r = &t->run;
  ridge_ctx ctx = {.tid = m->tid, .nthreads = t->n, .barrier = barrier, .team = t, .ahead = t->ahead, .runs = t->runs};
  int set = t->set;
  if (r->settle_ns > 0) spin_until(now_ns() + r->settle_ns);
  line(t, m->tid); // everybody has read the first set
  if (r->lead > 0) launch(m, &ctx, &set, r->lead);
  read_counters(m);
  for (int s = 0; s < r->samples && !atomic_load(&t->status); s++) { // status: written before the last line or barrier
    if (m->tid == 0) t->stopping = r->stop && __atomic_load_n(r->stop, __ATOMIC_RELAXED);
    int64_t t0 = line(t, m->tid);
    if (t->stopping) break; // written by the leader before it released the line
    int64_t t1 = launch(m, &ctx, &set, r->launches);
    read_counters(m);
    ridge_barrier(&ctx);
    if (m->tid == 0) {
      ridge_sample x = {t0, t1, 0, 0};
      for (int i = 0; i < t->n; i++) {
        if (t->m[i].d_switches < 0) x.switches = -1;
        if (x.switches >= 0) x.switches += t->m[i].d_switches;
        if (t->m[i].d_delay < 0) x.run_delay_ns = -1;
        if (x.run_delay_ns >= 0 && t->m[i].d_delay > x.run_delay_ns) x.run_delay_ns = t->m[i].d_delay;
      }
      r->out[s] = x;
      t->done = s + 1;
    }
  }
  if (m->tid == 0) t->set = set;
}

// 1 when this thread flushes denormal inputs or results to zero, 0 when not, -1 unknown.
static int flushes_denormals(void) {
#if defined(__x86_64__)
  return (__builtin_ia32_stmxcsr() & 0x8040) != 0; // FTZ, DAZ (Intel SDM volume 1, 10.2.3)
#elif defined(__aarch64__)
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (fpcr >> 24 & 1) != 0; // FZ (Arm ARM, FPCR)
#else
  return -1;
#endif
}

// Adds 1 to an eventfd.
static void tell(int event) {
  const uint64_t one = 1;
  while (write(event, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

static void *member_main(void *p) {
  member *m = p;
  struct ridge_team *t = m->team;
  char name[16];
  snprintf(name, sizeof name, "ridge-team-%d", m->tid);
  prctl(PR_SET_NAME, name, 0, 0, 0);
  if (m->cpu >= 0) {
    cpu_set_t *set = CPU_ALLOC(m->cpu + 1);
    size_t size = CPU_ALLOC_SIZE(m->cpu + 1);
    int ok = 0;
    if (set) {
      CPU_ZERO_S(size, set);
      CPU_SET_S(m->cpu, size, set);
      ok = sched_setaffinity(0, size, set) == 0;
      CPU_FREE(set);
    }
    if (!ok) m->cpu = -1;
  }
  m->flush = flushes_denormals();
  m->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  atomic_fetch_add(&t->finished.v, 1);
  futex_wake(&t->finished.v);
  for (uint32_t seen = 0;;) {
    wait_change(&t->job, seen, &t->job_sleepers, t->spin_ns);
    seen = atomic_load(&t->job.v);
    if (atomic_load(&t->quit)) break;
    run_job(m);
    const uint32_t n = (uint32_t)t->n;
    const int event = t->event; // read before the others may take the team for finished and destroy it
    const int last = atomic_fetch_add(&t->finished.v, 1) + 1 == n;
    futex_wake(&t->finished.v);
    if (last && event >= 0) tell(event);
  }
  if (m->schedstat >= 0) close(m->schedstat);
  return NULL;
}

static void wait_finished(struct ridge_team *t, uint32_t n) {
  for (;;) {
    uint32_t f = atomic_load(&t->finished.v);
    if (f >= n) return;
    futex_wait(&t->finished.v, f);
  }
}

// More threads than CPUs: a waiter's partner may be waiting for the CPU on which it spins.
static int64_t spin_of(int n) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 && n > CPU_COUNT(&set) ? 0 : SPIN_NS;
}

void ridge_team_set_reading(struct ridge_team *t, int ahead, int runs) { t->ahead = ahead, t->runs = runs; }

struct ridge_team *ridge_team_create(int n, const int *cpus) {
  if (n < 1 || n > 4096) {
    errno = EINVAL;
    return NULL;
  }
  struct ridge_team *t = NULL;
  if (posix_memalign((void **)&t, 128, sizeof *t)) return NULL;
  memset(t, 0, sizeof *t);
  t->n = n, t->spin_ns = spin_of(n);
  if (posix_memalign((void **)&t->m, 128, (size_t)n * sizeof *t->m)) {
    free(t);
    return NULL;
  }
  memset(t->m, 0, (size_t)n * sizeof *t->m);
  t->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // The team's threads take no signals: those belong to the Go runtime's threads.
  sigset_t all, old;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV), sigdelset(&all, SIGBUS), sigdelset(&all, SIGILL), sigdelset(&all, SIGFPE), sigdelset(&all, SIGABRT);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int made = 0, err = 0;
  for (; made < n; made++) {
    member *m = &t->m[made];
    m->team = t, m->tid = made, m->cpu = cpus ? cpus[made] : -1, m->schedstat = -1;
    if ((err = pthread_create(&m->thread, NULL, member_main, m))) break;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  wait_finished(t, (uint32_t)made);
  if (made < n) {
    t->n = made;
    if (t->event >= 0) close(t->event);
    ridge_team_destroy(t);
    errno = err;
    return NULL;
  }
  return t;
}

void ridge_team_destroy(struct ridge_team *t) {
  if (!t) return;
  atomic_store(&t->quit, 1);
  advance(&t->job, &t->job_sleepers);
  for (int i = 0; i < t->n; i++) pthread_join(t->m[i].thread, NULL);
  free(t->m);
  free(t);
}

int ridge_team_cpu(const struct ridge_team *t, int i) { return t->m[i].cpu; }

int ridge_team_flushes_denormals(const struct ridge_team *t) { return t->m[0].flush; }

int ridge_team_event(const struct ridge_team *t) { return t->event; }

void ridge_team_start(struct ridge_team *t, const ridge_run *run) {
  t->run = *run;
  t->set = run->set, t->stopping = 0, t->done = 0;
  atomic_store(&t->status, 0);
  atomic_store(&t->finished.v, 0);
  advance(&t->job, &t->job_sleepers);
}

int ridge_team_finish(struct ridge_team *t, ridge_run *run) {
  wait_finished(t, (uint32_t)t->n);
  run->set = t->set, run->done = t->done;
  return atomic_load(&t->status);
}

void ridge_team_default_signals(void) {
  int crash[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  for (size_t i = 0; i < sizeof crash / sizeof *crash; i++) signal(crash[i], SIG_DFL);
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}
