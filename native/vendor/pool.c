// The threads of a library: pinning, ridge's kernels on them, and waiting until they sleep.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vendor.h"

const char *ridge_vendor_symbols(void *handle, const char *const *names, void **to, int n) {
  for (int i = 0; i < n; i++)
    if (!(to[i] = dlsym(handle, names[i]))) return names[i];
  return NULL;
}

int ridge_vendor_runtime(void *handle, ridge_vendor_pool *pool) {
  static const char *const names[] = {"GOMP_parallel", "GOMP_barrier", "omp_get_thread_num", "omp_get_num_threads", "omp_set_num_threads"};
  void *f[5];
  if (ridge_vendor_symbols(handle, names, f, 5)) return -1;
  pool->parallel = (void (*)(void (*)(void *), void *, unsigned, unsigned))f[0];
  pool->barrier = (void (*)(void))f[1];
  pool->thread_num = (int (*)(void))f[2];
  pool->num_threads = (int (*)(void))f[3];
  pool->set_num_threads = (void (*)(int))f[4];
  return 0;
}

static void barrier(struct ridge_team *team, int32_t tid) { ((const ridge_vendor_pool *)(void *)team)->barrier(); }

// One thread's part of a step of ridge's own.
static void part(void *p) {
  ridge_vendor_step *s = p;
  const ridge_vendor_pool *pool = s->pool;
  ridge_ctx ctx = {.nthreads = pool->n, .barrier = barrier, .team = (struct ridge_team *)(void *)pool, .workspace = s->workspace,
                   .workspace_bytes = s->workspace_bytes};
  int rc = RIDGE_E_SYSTEM; // fewer threads than asked for would leave parts undone
  if (!pool->parallel || pool->num_threads() == pool->n) {
    ctx.tid = pool->parallel ? pool->thread_num() : 0;
    rc = s->fn(s->args, &ctx);
  }
  if (rc) __atomic_store_n(&s->status, rc, __ATOMIC_RELAXED);
}

static int library(ridge_vendor_step *s, int what) {
  ridge_ctx ctx = {.nthreads = s->pool->n, .workspace = &s->state, .workspace_bytes = sizeof s->state};
  s->state.what = what;
  return s->status = s->fn(s->args, &ctx);
}

int ridge_vendor_call(const void *step, const ridge_ctx *leader) {
  ridge_vendor_step *s = (ridge_vendor_step *)step;
  if (s->library) return library(s, RIDGE_VENDOR_RUN);
  s->status = RIDGE_OK;
  if (s->pool->parallel)
    s->pool->parallel(part, s, (unsigned)s->pool->n, 0);
  else
    part(s);
  return s->status;
}

int ridge_vendor_prepare(const void *step, const ridge_ctx *leader) {
  ridge_vendor_step *s = (ridge_vendor_step *)step;
  return s->library ? library(s, RIDGE_VENDOR_PREPARE) : RIDGE_OK;
}

int ridge_vendor_refill(const void *step, const ridge_ctx *leader) {
  ridge_vendor_step *s = (ridge_vendor_step *)step;
  return s->library ? library(s, RIDGE_VENDOR_REFILL) : RIDGE_OK;
}

void ridge_vendor_release(ridge_vendor_step *s) {
  if (s->state.release) s->state.release(s->state.p);
  s->state.release = NULL;
}

static void pin(void *p) {
  const ridge_vendor_pool *pool = p;
  int i = pool->parallel ? pool->thread_num() : 0;
  if (i >= pool->n) return;
  pool->tids[i] = (int)syscall(SYS_gettid);
  if (pool->cpus[i] < 0) return;
  cpu_set_t *set = CPU_ALLOC(pool->cpus[i] + 1);
  if (!set) return;
  size_t size = CPU_ALLOC_SIZE(pool->cpus[i] + 1);
  CPU_ZERO_S(size, set);
  CPU_SET_S(pool->cpus[i], size, set);
  if (sched_setaffinity(0, size, set)) pool->tids[i] = 0;
  CPU_FREE(set);
}

int ridge_vendor_pin(const void *p, const ridge_ctx *leader) {
  const ridge_vendor_pool *pool = p;
  memset(pool->tids, 0, (size_t)pool->n * sizeof *pool->tids);
  if (pool->parallel) {
    pool->set_num_threads(pool->n);
    pool->parallel(pin, (void *)p, (unsigned)pool->n, 0);
  } else {
    pin((void *)p);
  }
  for (int i = 0; i < pool->n; i++)
    if (!pool->tids[i]) return RIDGE_E_SYSTEM;
  return RIDGE_OK;
}

static int64_t now_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

// 1 when a thread of this process runs or wants to.
static int runs(int tid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = 0;
  const char *end = strrchr(text, ')'); // after the name comes the state
  return end && end[1] == ' ' && end[2] == 'R';
}

int ridge_vendor_quiet(const ridge_vendor_pool *pool, int64_t ns) {
  for (int64_t until = now_ns() + ns;;) {
    int busy = 0;
    for (int i = 1; i < pool->n; i++) busy += runs(pool->tids[i]);
    if (!busy || now_ns() > until) return busy;
    struct timespec pause = {0, 100000};
    nanosleep(&pause, NULL);
  }
}
