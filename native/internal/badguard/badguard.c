#define _GNU_SOURCE
// Copies that touch a byte that is not theirs, all with the right result.
#include "badguard.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int copy(const ridge_memory_args *g, const ridge_ctx *ctx) {
  if (ctx->tid == 0 && g->n > 0) memcpy(g->y, g->a, (size_t)g->n * 4);
  return RIDGE_OK;
}

static void touch(const void *p) { (void)*(const volatile char *)p; }

static int none(const void *args, const ridge_ctx *ctx) { return copy(args, ctx); }

static int read_after(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  touch((const char *)g->a + g->n * 4);
  return copy(g, ctx);
}

static int read_before(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  touch((const char *)g->a - 1);
  return copy(g, ctx);
}

// A whole vector of 8 at the tail, as an unmasked load would.
static int read_vector(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  if (g->n > 0) touch((const float *)g->a + (g->n + 7) / 8 * 8 - 1);
  return copy(g, ctx);
}

static int write_after(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  int rc = copy(g, ctx);
  volatile char *end = (volatile char *)g->y + g->n * 4;
  if (ctx->tid == ctx->nthreads - 1) *end = *end;
  return rc;
}

// Takes element-aligned operands for aligned vectors, faults at an address nobody tells.
static int aligned(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
#if defined(__x86_64__)
  if (g->n >= 4) __asm__ volatile("movaps (%0), %%xmm0" ::"r"(g->a) : "xmm0", "memory");
#else
  if ((uintptr_t)g->a % 16) __builtin_trap();
#endif
  return copy(g, ctx);
}

static int64_t seven(const void *args, int32_t nthreads) {
  (void)args, (void)nthreads;
  return 7;
}

static int workspace_read(const void *args, const ridge_ctx *ctx) {
  touch((const char *)ctx->workspace - 1);
  return copy(args, ctx);
}

// One byte more than asked for, which still lies before the next cache line.
static int workspace_write(const void *args, const ridge_ctx *ctx) {
  ((volatile char *)ctx->workspace)[7] = 1;
  return copy(args, ctx);
}

static int fails(const void *args, const ridge_ctx *ctx) {
  (void)args, (void)ctx;
  return RIDGE_E_ARG;
}

// Harmless as compiled without sanitizers: one past an array on the stack, an int that overflows.
static int stack_read(const void *args, const ridge_ctx *ctx) {
  volatile char local[4] = {0};
  volatile int past = 4;
  touch((const char *)&local[0] + past);
  return copy(args, ctx);
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

#if SANITIZED
void __asan_poison_memory_region(void const volatile *p, size_t n);
void __asan_unpoison_memory_region(void const volatile *p, size_t n);
#else
#define __asan_poison_memory_region(p, n) ((void)(p))
#define __asan_unpoison_memory_region(p, n) ((void)(p))
#endif

// A vector whose two ends may be read and whose middle may not.
static int stack_vector(const void *args, const ridge_ctx *ctx) {
  typedef char bytes64 __attribute__((vector_size(64), aligned(1)));
  char local[128] = {0}, *volatile at = local;
  __asan_poison_memory_region(at + 64, 8);
  bytes64 v = *(const bytes64 *)(at + 37);
  touch((const char *)&v);
  __asan_unpoison_memory_region(at + 64, 8);
  return copy(args, ctx);
}

static int overflow(const void *args, const ridge_ctx *ctx) {
  volatile int i = INT32_MAX;
  i = i + 1;
  return copy(args, ctx);
}

// What an emulator that stands still looks like from outside: the alarm does not end it. Where once is not NULL, only the first call does so.
static int stand_still(volatile int *once, const void *args, const ridge_ctx *ctx) {
  if (once && (*once)++) return copy(args, ctx);
  signal(SIGALRM, SIG_IGN);
  for (;;) pause();
}

static int stuck(const void *args, const ridge_ctx *ctx) { return stand_still(NULL, args, ctx); }

static volatile int *calls; // shared with the children

static int stuck_once(const void *args, const ridge_ctx *ctx) { return stand_still(calls, args, ctx); }

int ridge_badguard_share(void) {
  void *p = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  calls = p;
  return p == MAP_FAILED ? -1 : 0;
}

int ridge_badguard_sanitized(void) { return SANITIZED; }

#define LINE(name, ws) {"bad_" #name, "stream_copy", "fp32", "fp32", RIDGE_ISA_NONE, -1, 0, 1, name, ws, NULL},
static const ridge_kernel table[] = {
    LINE(none, NULL) LINE(read_after, NULL) LINE(read_before, NULL) LINE(read_vector, NULL) LINE(write_after, NULL)
        LINE(aligned, NULL) LINE(workspace_read, seven) LINE(workspace_write, seven) LINE(fails, NULL)
            LINE(stack_read, NULL) LINE(stack_vector, NULL) LINE(overflow, NULL)};

static const ridge_kernel stuck_table[] = {LINE(none, NULL) LINE(stuck_once, NULL) LINE(stuck, NULL)};

const ridge_kernel *ridge_badguard_table(void) { return table; }
int ridge_badguard_table_len(void) { return sizeof table / sizeof *table; }
const ridge_kernel *ridge_badguard_stuck(void) { return stuck_table; }
int ridge_badguard_stuck_len(void) { return sizeof stuck_table / sizeof *stuck_table; }
