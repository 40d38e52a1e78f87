#ifndef RIDGE_TEAMKERNEL_H
#define RIDGE_TEAMKERNEL_H
#include <stdint.h>
#include <stdlib.h>

typedef struct spin_args {
  int64_t ns;
  int32_t only;  // the thread that spins; negative: all
  int64_t calls; // of thread 0
} spin_args;

typedef struct order_args {
  int32_t *log;
  int32_t n, room;
} order_args;

typedef struct logged_args {
  order_args *order;
  int32_t number;
} logged_args;

// A value that a thread alone changes and all copy: who reads or writes too early is found.
typedef struct relay_args {
  int64_t value, wrong;
  int32_t threads;
  int64_t copies[64];
} relay_args;

void *teamkernel_copy(void);   // each thread of the team copies the value
void *teamkernel_change(void); // one thread alone checks the copies and changes the value
void *teamkernel_recopy(void); // one thread alone copies the value for all
void *teamkernel_spin(void);
void *teamkernel_log(void);
#endif
