// A perf_event_open(2) of known answers, for tests.
#ifndef FAKEPERF_H
#define FAKEPERF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FAKEPERF_RULES = 8, FAKEPERF_OPEN = 4096 };

// What opening an event gives: a counter that rises by step with each reading, opens times, then the errno err (0: always a counter).
typedef struct fakeperf_rule {
  uint32_t type;
  uint64_t config, step;
  int opens, err;
} fakeperf_rule;

// From now on the answers are these. With each reading a group was wanted for a millisecond more, and counted for per_mille
// thousandths of it; where read_err is not 0 each reading fails so. Events of no rule are refused with ENOENT.
void fakeperf_install(const fakeperf_rule *rules, int n, int per_mille, int read_err);
int fakeperf_open_now(void); // counters that are open

struct perf_event_attr;
int fakeperf_open(struct perf_event_attr *a, int group);
ssize_t fakeperf_read(int fd, void *to, size_t bytes);
int fakeperf_close(int fd);

#endif
