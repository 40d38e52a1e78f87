#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static guard_report *report; // the child's; a signal handler has no other way to it

static void fault(int sig, siginfo_t *info, void *context) {
  (void)context;
  report->address = (uint64_t)(uintptr_t)info->si_addr;
  signal(sig, SIG_DFL); // the instruction is repeated and ends the process by its signal
}

static void catch_faults(void) {
  int crash[] = {SIGSEGV, SIGBUS};
  struct sigaction act = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
  struct rlimit none = {0, 0};
  sigset_t all;
  for (size_t i = 0; i < sizeof crash / sizeof *crash; i++) sigaction(crash[i], &act, NULL);
  int end[] = {SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGALRM};
  for (size_t i = 0; i < sizeof end / sizeof *end; i++) signal(end[i], SIG_DFL);
  sigfillset(&all);
  pthread_sigmask(SIG_UNBLOCK, &all, NULL);
  setrlimit(RLIMIT_CORE, &none);
}

typedef struct member {
  const guard_step *step;
  ridge_kernel_fn fn;
  int tid, n, status;
  pthread_barrier_t *barrier;
} member;

static void meet(struct ridge_team *team, int32_t tid) {
  (void)tid;
  pthread_barrier_wait((pthread_barrier_t *)(void *)team);
}

static void *work(void *p) {
  member *m = p;
  const ridge_ctx ctx = {.tid = m->tid, .nthreads = m->n, .barrier = meet, .team = (struct ridge_team *)(void *)m->barrier,
                         .workspace = m->step->workspace, .workspace_bytes = m->step->workspace_bytes, .ahead = 2048, .runs = 4};
  m->status = m->fn(m->step->args, &ctx);
  return NULL;
}

// Returns the function's status, which is the same on all threads.
static int launch(const guard_step *step, ridge_kernel_fn fn) {
  const int n = step->nthreads;
  pthread_barrier_t barrier;
  pthread_t thread[n];
  member m[n];
  if (pthread_barrier_init(&barrier, NULL, (unsigned)n)) abort();
  for (int i = 0; i < n; i++) {
    m[i] = (member){step, fn, i, n, 0, &barrier};
    if (i > 0 && pthread_create(&thread[i], NULL, work, &m[i])) abort();
  }
  work(&m[0]);
  for (int i = 1; i < n; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&barrier);
  return m[0].status;
}

static int overrun(const void *end, int64_t slack) {
  for (int64_t b = 0; b < slack; b++)
    if (((const unsigned char *)end)[b] != GUARD_CANARY) return 1;
  return 0;
}

// Packs the operands; then closes them and makes the copy read-only, or opens both again.
static int pack(const guard_step *s, int open) {
  if (!s->pack) return 0;
  if (!open) {
    int rc = launch(s, s->pack);
    if (rc) return rc;
    if (overrun(s->packed_end, s->packed_slack)) return GUARD_PACKED;
  }
  const int all = PROT_READ | PROT_WRITE;
  for (int i = 0; i < 2; i++)
    if (s->operand_bytes[i] > 0 && mprotect(s->operands[i], (size_t)s->operand_bytes[i], open ? all : PROT_NONE)) abort();
  if (s->copy_bytes > 0 && mprotect(s->copy, (size_t)s->copy_bytes, open ? all : PROT_READ)) abort();
  return 0;
}

static void child(const guard_step *steps, int from, int n) {
  for (int i = from; i < n; i++) {
    const guard_step *s = &steps[i];
    report->step = i;
    report->status = pack(s, 0);
    if (!report->status) report->status = launch(s, s->fn);
    if (!report->status) report->status = pack(s, 1);
    if (overrun((const char *)s->workspace + s->workspace_bytes, s->slack)) report->status = GUARD_SLACK;
    if (report->status) _exit(1);
  }
  _exit(0);
}

// Waits for the child, at most the time given; then it ends it by a signal that nothing holds up. *killed tells so.
static int wait_for(pid_t pid, int ms, int *killed) {
  struct timespec pause = {0, 100000}, start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int status;;) {
    const pid_t got = waitpid(pid, &status, *killed ? 0 : WNOHANG);
    if (got == pid) return status;
    if (got < 0 && errno != EINTR) return -1;
    if (*killed) continue;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 > ms) {
      *killed = 1;
      kill(pid, SIGKILL);
      continue;
    }
    nanosleep(&pause, NULL);
    if (pause.tv_nsec < 1000000) pause.tv_nsec += pause.tv_nsec / 4;
  }
}

int guard_run(const guard_step *steps, int from, int n, int ms, guard_report *r) {
  for (int attempt = 1;; attempt++) {
    *r = (guard_report){.step = from};
    const pid_t pid = fork();
    if (pid < 0) return -1;
    if (pid == 0) {
      report = r;
      catch_faults();
      const struct itimerval limit = {.it_value = {ms / 1000, ms % 1000 * 1000}};
      setitimer(ITIMER_REAL, &limit, NULL);
      child(steps, from, n);
    }
    int killed = 0;
    const int status = wait_for(pid, ms + ms / 10, &killed);
    r->killed = killed;
    if (!killed || attempt == GUARD_ATTEMPTS) return status;
    from = r->step; // those before it ended, and without a fault
    fprintf(stderr, "guard: a child process stood still in step %d of %d and its alarm did not end it: that step again\n", from, n);
  }
}

int guard_call(ridge_kernel_fn fn, const void *args) {
  const ridge_ctx ctx = {.nthreads = 1};
  return fn(args, &ctx);
}
