#define _GNU_SOURCE
#include "teamkernel.h"

#include <time.h>

#include "../../include/ridge.h"

static int64_t now_ns(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int spin(const void *args, const ridge_ctx *ctx) {
  spin_args *a = (spin_args *)args;
  int64_t from = now_ns();
  if (ctx->tid == 0) a->calls++;
  if (a->only < 0 || a->only == ctx->tid)
    while (now_ns() - from < a->ns) {
    }
  return RIDGE_OK;
}

static int log_call(const void *args, const ridge_ctx *ctx) {
  const logged_args *a = args;
  if (ctx->tid == 0) {
    if (a->order->n < a->order->room) a->order->log[a->order->n] = a->number;
    a->order->n++;
  }
  return RIDGE_OK;
}

void *teamkernel_spin(void) { return (void *)spin; }
void *teamkernel_log(void) { return (void *)log_call; }
