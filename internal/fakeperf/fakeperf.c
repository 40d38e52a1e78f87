#include "fakeperf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>

enum { FIRST = 1 << 20 }; // no descriptor of the process is as high

static struct {
  fakeperf_rule rule[FAKEPERF_RULES];
  _Atomic int opened[FAKEPERF_RULES];
  int n, per_mille, read_err;
} script;

// The counters in the order of their opening. A thread opens, reads and closes its own alone; where others look for theirs they see the
// leader, 0 until the counter is there.
static struct {
  int rule, closed;
  _Atomic int leader; // its place, from 1
  uint64_t reads;
} counter[FAKEPERF_OPEN];
static _Atomic int counters, open_now;

void fakeperf_install(const fakeperf_rule *rules, int n, int per_mille, int read_err) {
  memset(&script, 0, sizeof script);
  memset(counter, 0, sizeof counter);
  memcpy(script.rule, rules, (size_t)n * sizeof *rules);
  script.n = n, script.per_mille = per_mille, script.read_err = read_err;
  atomic_store(&counters, 0), atomic_store(&open_now, 0);
}

int fakeperf_open_now(void) { return atomic_load(&open_now); }

int fakeperf_open(struct perf_event_attr *a, int group) {
  int k = 0;
  while (k < script.n && (script.rule[k].type != a->type || script.rule[k].config != a->config)) k++;
  if (k == script.n) {
    errno = ENOENT;
    return -1;
  }
  const fakeperf_rule *u = &script.rule[k];
  if (atomic_fetch_add(&script.opened[k], 1) >= u->opens && u->err) {
    errno = u->err;
    return -1;
  }
  if (group != -1 && (group < FIRST || group >= FIRST + atomic_load(&counters) || counter[group - FIRST].leader != group - FIRST + 1 || counter[group - FIRST].closed)) {
    errno = EBADF;
    return -1;
  }
  const int i = atomic_fetch_add(&counters, 1);
  if (i >= FAKEPERF_OPEN) {
    errno = EMFILE;
    return -1;
  }
  counter[i].rule = k, counter[i].leader = (group == -1 ? i : group - FIRST) + 1;
  atomic_fetch_add(&open_now, 1);
  return FIRST + i;
}

// As read(2) of a group with both times.
ssize_t fakeperf_read(int fd, void *to, size_t bytes) {
  const int i = fd - FIRST;
  if (i < 0 || i >= atomic_load(&counters) || counter[i].closed || script.read_err) {
    errno = script.read_err ? script.read_err : EBADF;
    return -1;
  }
  uint64_t out[3 + FAKEPERF_RULES] = {0};
  const uint64_t reads = ++counter[i].reads;
  const int all = atomic_load(&counters);
  for (int k = i; k < all && out[0] < FAKEPERF_RULES; k++)
    if (counter[k].leader == i + 1 && !counter[k].closed) out[3 + out[0]++] = reads * script.rule[counter[k].rule].step;
  out[1] = reads * 1000000, out[2] = reads * 1000 * (uint64_t)script.per_mille;
  const size_t size = (3 + out[0]) * sizeof *out;
  if (bytes < size) {
    errno = ENOSPC;
    return -1;
  }
  memcpy(to, out, size);
  return (ssize_t)size;
}

int fakeperf_close(int fd) {
  const int i = fd - FIRST;
  if (i < 0 || i >= atomic_load(&counters) || counter[i].closed) {
    errno = EBADF;
    return -1;
  }
  counter[i].closed = 1;
  atomic_fetch_sub(&open_now, 1);
  return 0;
}
