#define _GNU_SOURCE
#include "count.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define COUNT_SIGNAL (SIGRTMIN + 10)

enum { LENGTH_NS = 500000000, MOST_FDS = 600 };

static volatile int64_t handled;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The work of the sampler's handler: the clock, and a few stores.
static void on_signal(int sig, siginfo_t *info, void *context) {
  static volatile int64_t noted;
  (void)sig, (void)info, (void)context;
  noted = now_ns();
  (void)noted;
  handled++;
}

static void install(void) {
  struct sigaction on;
  memset(&on, 0, sizeof on);
  on.sa_sigaction = on_signal;
  on.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&on.sa_mask);
  sigaction(COUNT_SIGNAL, &on, NULL);
}

static struct timespec span(int64_t ns) { return (struct timespec){ns / 1000000000, ns % 1000000000}; }

// What the turns of a loop took that were longer than 1 µs, less what a turn takes.
static double missing(int64_t until) {
  double sum = 0;
  for (int64_t last = now_ns(); last < until;) {
    const int64_t t = now_ns();
    if (t - last > 1000) sum += (double)(t - last - 30);
    last = t;
  }
  return sum;
}

double ridge_count(int way, int hz, int64_t *ticks) {
  const int64_t period = 1000000000 / hz, off = way == COUNT_OFF_PHASE ? 300000 : 0;
  const int64_t first = (now_ns() / 4000000 + 3) * 4000000 + off; // the kernel's ticks come at whole milliseconds too
  int fd[MOST_FDS], fds = 0, timers = 0;
  timer_t timer[2];
  int64_t end = first + LENGTH_NS;
  install();
  handled = *ticks = 0;
  if (way == COUNT_BARE_TIMER) { // a timer with a file expires once, and nobody waits for it: one for each tick
    for (; fds < MOST_FDS && fds < LENGTH_NS / period; fds++) {
      const struct itimerspec at = {{0, 0}, span(first + fds * period)};
      if ((fd[fds] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) < 0) break;
      timerfd_settime(fd[fds], TFD_TIMER_ABSTIME, &at, NULL);
    }
    if (fds < 10) return -1;
    end = first + fds * period;
  } else if (way != COUNT_NOTHING) {
    struct sigevent to;
    memset(&to, 0, sizeof to);
    to.sigev_notify = SIGEV_THREAD_ID;
    to.sigev_signo = COUNT_SIGNAL;
    to.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    const int n = way == COUNT_ONE_TIMER ? 1 : 2;
    for (; timers < n; timers++) {
      if (timer_create(CLOCK_MONOTONIC, &to, &timer[timers])) return -1;
      const struct itimerspec at = {span(n * period), span(first + timers * period)};
      timer_settime(timer[timers], TIMER_ABSTIME, &at, NULL);
    }
  }
  while (now_ns() < first - period / 2) {}
  handled = 0;
  double sum = missing(end);
  *ticks = way == COUNT_BARE_TIMER ? fds : handled;
  while (timers > 0) timer_delete(timer[--timers]);
  sum *= (double)LENGTH_NS / (double)(end - first); // what the kernel's own ticks take is taken off for the whole length
  if (way == COUNT_BARE_TIMER) *ticks = (int64_t)((double)fds * LENGTH_NS / (double)(end - first));
  while (fds > 0) close(fd[--fds]);
  return sum;
}

double ridge_count_signal(void) {
  enum { N = 20000 };
  install();
  const pid_t pid = getpid(), tid = (pid_t)syscall(SYS_gettid);
  const int64_t a = now_ns();
  for (int i = 0; i < N; i++) syscall(SYS_tgkill, pid, tid, COUNT_SIGNAL);
  return (double)(now_ns() - a) / N;
}

double ridge_count_clock(void) {
  enum { N = 1000000 };
  const int64_t a = now_ns();
  for (int i = 0; i < N; i++) now_ns();
  return (double)(now_ns() - a) / N;
}
