#include "fault.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int good(const fault_args *a, const ridge_ctx *ctx, int64_t n) {
  int64_t from, to;
  ridge_share(n, 16, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t i = from; i < to; i++) a->y[i] = 2 * a->x[i];
  return RIDGE_OK;
}

static int fault_good(const void *args, const ridge_ctx *ctx) {
  const fault_args *a = args;
  return good(a, ctx, a->n);
}

static int fault_bad(const void *args, const ridge_ctx *ctx) {
  const fault_args *a = args;
  int64_t call = ctx->tid == 0 ? ++*a->calls : 0;
  switch (a->kind) {
    case FAULT_SEGV: a->y[(int64_t)1 << 40] = 1; break; // 4 TiB past the buffer
    case FAULT_ILL: __builtin_trap(); break;
    case FAULT_ABORT: abort();
    case FAULT_HANG:
      for (volatile int stay = 1; stay;) {
      }
      break;
    case FAULT_OOM: // takes memory until the system refuses or kills
      for (size_t step = 64 << 20;;) {
        void *p = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) abort();
        memset(p, 1, 4096); // one page is enough where the limit is on addresses
      }
    case FAULT_SKIP_LAST: return good(a, ctx, a->n - 1);
    case FAULT_OVERRUN:
      if (ctx->tid == 0) a->y[a->n] = 1;
      break;
    case FAULT_WRONG:
      good(a, ctx, a->n);
      ridge_barrier(ctx);
      if (ctx->tid == 0) a->y[a->n / 2] += 0.5f;
      return RIDGE_OK;
    case FAULT_UNSTABLE: // other bits in every run, each within a loose bound
      good(a, ctx, a->n);
      ridge_barrier(ctx);
      if (ctx->tid == 0) a->y[0] *= 1 + (float)(call % 2) * 0x1p-22f;
      return RIDGE_OK;
    case FAULT_STATUS: return RIDGE_E_ARG;
    case FAULT_CLOBBER: { // drops the last bits of x in place: y stays within its bound and repeats
      int64_t from, to;
      ridge_share(a->n, 16, ctx->tid, ctx->nthreads, &from, &to);
      uint32_t *x = (uint32_t *)a->x;
      for (int64_t i = from; i < to; i++) x[i] &= ~3u;
      break;
    }
    case FAULT_OVERRUN_INPUT:
      if (ctx->tid == 0) ((float *)a->x)[a->n] = 1;
      break;
  }
  return good(a, ctx, a->n);
}

static const ridge_kernel table[] = {
    {"fault_fp32_bad", "fault", "fp32", "fp32", RIDGE_ISA_NONE, 10, 8, 1, fault_bad, NULL, NULL},
    {"fault_fp32_good", "fault", "fp32", "fp32", RIDGE_ISA_NONE, 0, 8, 1, fault_good, NULL, NULL},
};

const ridge_kernel *ridge_fault_table(void) { return table; }
int ridge_fault_table_len(void) { return sizeof table / sizeof *table; }
