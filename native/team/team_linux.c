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

// Spins before a waiter sleeps on the futex: about 100 µs. Long enough that steps of one
// sample never sleep on a quiet machine, short enough that a waiter whose partner lost its
// CPU gives the core away.
#define SPINS 4000

typedef struct __attribute__((aligned(128))) word {
  _Atomic uint32_t v;
} word;

typedef struct __attribute__((aligned(128))) member {
  struct ridge_team *team;
  pthread_t thread;
  int tid, cpu;
  int schedstat;               // /proc/thread-self/schedstat
  int64_t switches, run_delay; // counters at the last reading
  int64_t d_switches, d_delay; // difference over the last sample
} member;

struct ridge_team {
  int n;
  word arrived, generation, sleepers; // barrier
  word job, job_sleepers, finished;   // hand-over between caller and team
  _Atomic int quit;
  _Atomic int status;
  const ridge_step *steps;
  int nsteps, sets, samples, done;
  int64_t launches;
  ridge_sample *out;
  const int32_t *stop;
  int stopping;
  member *m;
};

static int64_t now_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void futex_wait(_Atomic uint32_t *p, uint32_t old) { syscall(SYS_futex, p, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0); }
static void futex_wake(_Atomic uint32_t *p) { syscall(SYS_futex, p, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0); }

static void wait_change(word *w, uint32_t old, word *sleepers) {
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load_explicit(&w->v, memory_order_acquire) != old) return;
    cpu_relax();
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
    wait_change(&t->generation, gen, &t->sleepers);
  }
}

// The start of a sample: the leader arrives last, reads the clock and releases the others.
static int64_t start_line(struct ridge_team *t, int tid) {
  if (t->n == 1) return now_ns();
  uint32_t gen = atomic_load_explicit(&t->generation.v, memory_order_relaxed);
  if (tid != 0) {
    atomic_fetch_add(&t->arrived.v, 1);
    wait_change(&t->generation, gen, &t->sleepers);
    return 0;
  }
  while (atomic_load_explicit(&t->arrived.v, memory_order_acquire) != (uint32_t)t->n - 1) cpu_relax();
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

static void run_job(member *m) {
  struct ridge_team *t = m->team;
  ridge_ctx ctx = {.tid = m->tid, .nthreads = t->n, .barrier = barrier, .team = t};
  read_counters(m);
  for (int s = 0; s < t->samples; s++) {
    if (m->tid == 0) t->stopping = t->stop && __atomic_load_n(t->stop, __ATOMIC_RELAXED);
    int64_t t0 = start_line(t, m->tid);
    if (t->stopping) break; // written by the leader before it released the start line
    const ridge_step *st = t->steps;
    int set = 0;
    for (int64_t l = 0; l < t->launches; l++) {
      for (int k = 0; k < t->nsteps; k++, st++) {
        ctx.workspace = st->workspace;
        ctx.workspace_bytes = st->workspace_bytes;
        int rc = st->fn(st->args, &ctx);
        if (rc) {
          int zero = 0;
          atomic_compare_exchange_strong(&t->status, &zero, rc);
        }
        ridge_barrier(&ctx);
      }
      if (++set == t->sets) set = 0, st = t->steps;
    }
    int64_t t1 = m->tid == 0 ? now_ns() : 0;
    read_counters(m);
    ridge_barrier(&ctx);
    if (m->tid == 0) {
      ridge_sample r = {t0, t1, 0, 0};
      for (int i = 0; i < t->n; i++) {
        if (t->m[i].d_switches < 0) r.switches = -1;
        if (r.switches >= 0) r.switches += t->m[i].d_switches;
        if (t->m[i].d_delay < 0) r.run_delay_ns = -1;
        if (r.run_delay_ns >= 0 && t->m[i].d_delay > r.run_delay_ns) r.run_delay_ns = t->m[i].d_delay;
      }
      t->out[s] = r;
      t->done = s + 1;
    }
    if (atomic_load(&t->status)) break; // set before the barriers above: the same for all
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
  m->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  atomic_fetch_add(&t->finished.v, 1);
  futex_wake(&t->finished.v);
  for (uint32_t seen = 0;;) {
    wait_change(&t->job, seen, &t->job_sleepers);
    seen = atomic_load(&t->job.v);
    if (atomic_load(&t->quit)) break;
    run_job(m);
    atomic_fetch_add(&t->finished.v, 1);
    futex_wake(&t->finished.v);
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

struct ridge_team *ridge_team_create(int n, const int *cpus) {
  if (n < 1 || n > 4096) {
    errno = EINVAL;
    return NULL;
  }
  struct ridge_team *t = NULL;
  if (posix_memalign((void **)&t, 128, sizeof *t)) return NULL;
  memset(t, 0, sizeof *t);
  t->n = n;
  if (posix_memalign((void **)&t->m, 128, (size_t)n * sizeof *t->m)) {
    free(t);
    return NULL;
  }
  memset(t->m, 0, (size_t)n * sizeof *t->m);
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

int ridge_team_run(struct ridge_team *t, const ridge_step *steps, int nsteps, int sets, int64_t launches,
                   int samples, ridge_sample *out, const int32_t *stop, int *done) {
  t->steps = steps, t->nsteps = nsteps, t->sets = sets, t->launches = launches;
  t->samples = samples, t->out = out, t->stop = stop, t->stopping = 0, t->done = 0;
  atomic_store(&t->status, 0);
  atomic_store(&t->finished.v, 0);
  advance(&t->job, &t->job_sleepers);
  wait_finished(t, (uint32_t)t->n);
  *done = t->done;
  return atomic_load(&t->status);
}

void ridge_team_default_signals(void) {
  int crash[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  for (size_t i = 0; i < sizeof crash / sizeof *crash; i++) signal(crash[i], SIG_DFL);
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}
