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

static void mistake(relay_args *a) { __atomic_fetch_add(&a->wrong, 1, __ATOMIC_RELAXED); }

static int copy(const void *args, const ridge_ctx *ctx) {
  relay_args *a = (relay_args *)args;
  if (ctx->nthreads != a->threads) mistake(a);
  a->copies[ctx->tid] = a->value;
  return RIDGE_OK;
}

static int change(const void *args, const ridge_ctx *ctx) {
  relay_args *a = (relay_args *)args;
  if (ctx->nthreads != 1 || ctx->tid != 0) mistake(a);
  for (int i = 0; i < a->threads; i++)
    if (a->copies[i] != a->value) mistake(a);
  a->value++;
  return RIDGE_OK;
}

static int recopy(const void *args, const ridge_ctx *ctx) {
  relay_args *a = (relay_args *)args;
  if (ctx->nthreads != 1 || ctx->tid != 0) mistake(a);
  for (int i = 0; i < a->threads; i++) a->copies[i] = a->value;
  return RIDGE_OK;
}

void *teamkernel_copy(void) { return (void *)copy; }
void *teamkernel_change(void) { return (void *)change; }
void *teamkernel_recopy(void) { return (void *)recopy; }
void *teamkernel_spin(void) { return (void *)spin; }
void *teamkernel_log(void) { return (void *)log_call; }
