// The body of the bandwidth probe, for vectors of VB bytes:
//
//   passes times over the thread's part of n fp32 elements of each array:
//   read   y[0] = sum of all 32-bit words of a, modulo 2^32 (thread sums added by thread 0)
//   write  y = s + pass
//   copy   y = a, its bits XORed with the pass
//   triad  y = a + (s + pass)*b            (passes count from 0)
//
// What is written depends on the pass, so a run that ends early or does one pass for all shows
// in the values, and no compiler can merge two passes. The XOR takes its operand from memory as
// the load would, and the sum s + pass is made once a pass: neither adds to the traffic.
//
// Preconditions: pointers aligned to 4 bytes. Bytes: arrays * n * 4 * passes. Binding limit: in
// L1 the load ports (read: one vector add with a memory operand per VB bytes, 8 a loop with
// 3 to 6 instructions of overhead; by 24 runs as many prefetches) and the store port; below it the memory itself. The sum needs
// every word in every pass: no order of reading changes it, so it proves the reading exactly,
// and it costs no instruction beyond the load. A compiler barrier per pass keeps the passes.
//
// The including file defines VB, TARGET, K(name) and, where the ISA has non-temporal stores,
// NT_STORE(p, v0, v1) of two vectors and NT_FENCE().
#include "memory.h"

typedef float bf __attribute__((vector_size(VB), aligned(4), may_alias));
typedef uint32_t bu __attribute__((vector_size(VB), aligned(4), may_alias));
typedef uint32_t bw_word __attribute__((may_alias));
enum { BL = VB / 4, BW_L3 = 12 << 20 }; // lanes; bytes of a part that may lie in L3

// The passes, each in STREAMS parts side by side, PER vectors of each a turn. Chains of latency 1, one add each
// a loop, or gcc would add two loads first.
#define BW_READ(name, STREAMS, PER, ASKED)                                                          \
  TARGET static uint32_t K(name)(const uint32_t *a, int64_t n, int64_t passes) {                    \
    enum { STEP = PER * BL, BW_U = STREAMS * PER };                                                 \
    bu acc[BW_U];                                                                                   \
    uint32_t sum = 0;                                                                               \
    const int64_t stream = n / STREAMS / STEP * STEP;                                               \
    RIDGE_UNROLL(24) for (int u = 0; u < BW_U; u++) acc[u] = (bu){0};                               \
    for (int64_t p = 0; p < passes; p++) {                                                          \
      MEMORY_OPAQUE();                                                                              \
      for (int64_t j = 0; j < stream; j += STEP) {                                                  \
        if (ASKED)                                                                                  \
          RIDGE_UNROLL(24) for (int u = 0; u < BW_U; u++)                                           \
              __builtin_prefetch((const char *)(a + j + u / PER * stream + u % PER * BL) + ASKED);  \
        RIDGE_UNROLL(24) for (int u = 0; u < BW_U; u++)                                             \
            acc[u] += *(const bu *)(a + j + u / PER * stream + u % PER * BL);                       \
      }                                                                                             \
      int64_t i = STREAMS * stream;                                                                 \
      for (; i + BL <= n; i += BL) acc[0] += *(const bu *)(a + i);                                  \
      for (; i < n; i++) sum += a[i];                                                               \
    }                                                                                               \
    RIDGE_UNROLL(24) for (int u = 1; u < BW_U; u++) acc[0] += acc[u];                               \
    uint32_t lane[BL];                                                                              \
    memcpy(lane, &acc[0], VB);                                                                      \
    for (int u = 0; u < BL; u++) sum += lane[u];                                                    \
    return sum;                                                                                     \
  }

// Four quarters side by side: from DRAM up to 1.16 times (Zen 3) and 1.09 times (Zen 4) what one stream reads; eight
// streams of whole lines read 0.85 to 0.92 on Zen 4. In the caches four are the same on Zen 3 and Zen 4, but with vectors of a whole
// line and from L2 one stream reads 1.16 to 1.21 times as much on Zen 5: 59 bytes a cycle for 49.
BW_READ(read_quarters, 4, 2, 0)
#if VB == RIDGE_CACHE_LINE
enum { BW_L2 = 2 << 20 }; // bytes of a part that may lie in L2
BW_READ(read_stream, 1, 8, 0)
BW_READ(read_asked, 4, 2, 1024) // from DRAM on Granite Rapids 34.0 GB/s for 31.9, two threads (2 KiB: 31.5); from L3 the same
BW_READ(read_runs, 24, 1, 512) // from DRAM on Ice Lake 1.24 of four, two threads 1.24 (16 runs 1.21, 1.14); from L3, 8 MiB, 16 runs 0.93
TARGET static uint32_t K(read_part)(const uint32_t *a, int64_t n, int64_t passes, const ridge_ctx *ctx) {
  if (4 * n <= BW_L2) return K(read_stream)(a, n, passes);
  return ctx->runs > 1 && 4 * n > BW_L3 ? K(read_runs)(a, n, passes) : ctx->ahead ? K(read_asked)(a, n, passes) : K(read_quarters)(a, n, passes);
}
#else
TARGET static uint32_t K(read_part)(const uint32_t *a, int64_t n, int64_t passes, const ridge_ctx *ctx) {
  (void)ctx;
  return K(read_quarters)(a, n, passes);
}
#endif

#define BW_ASK(p)                                                                                   \
  if (ahead && (p)) RIDGE_UNROLL(8) for (int l = 0; l < 8 * VB; l += RIDGE_CACHE_LINE) __builtin_prefetch((const char *)((p) + i) + ahead + l);
// Several runs (ridge_ctx) where something is read: around the caches, or from beyond them.
#define BW_RUNS(align_) (a && (align_ || 4 * n > BW_L3) ? ctx->runs : 0)
#define BANDWIDTH_LOOPS(STORE, FENCE, align_)                                                       \
  for (int64_t p = 0; p < passes; p++) {                                                            \
    MEMORY_OPAQUE();                                                                                \
    int64_t i = 0, head = align_ ? (int64_t)(-((uintptr_t)y / 4) % 16) : 0;                         \
    float value = s + (float)p;                                                                     \
    const bf vv = (bf){0} + value;                                                                  \
    const bu vp = (bu){0} + (uint32_t)p;                                                            \
    (void)vv, (void)vp;                                                                             \
    for (; i < head && i < n; i++) BW_ONE;                                                          \
    ridge_pieces pieces = ridge_pieces_of(i, i, n, MEMORY_PIECE / 4, BW_RUNS(align_));              \
    for (int64_t end; ridge_piece(&pieces, &i, &end);)                                              \
      for (; i + 8 * BL <= end; i += 8 * BL) {                                                      \
        if (align_) {                                                                               \
          BW_ASK(a)                                                                                 \
          BW_ASK(b)                                                                                 \
        }                                                                                           \
        RIDGE_UNROLL(8) for (int w = 0; w < 8; w += 2) {                                            \
          bf v0, v1;                                                                                \
          { enum { u = 0 }; v0 = BW_VECTOR; }                                                       \
          { enum { u = 1 }; v1 = BW_VECTOR; }                                                       \
          STORE(y + i + w * BL, v0, v1);                                                            \
        }                                                                                           \
        MEMORY_OPAQUE();                                                                            \
      }                                                                                             \
    FENCE();                                                                                        \
    for (; i < n; i++) BW_ONE;                                                                      \
  }

#define ORDINARY(p, v0, v1) *(bf *)(p) = v0, *(bf *)((p) + BL) = v1
#define NO_FENCE() ((void)0)
#define BW_FUNCTION(name, STORE, FENCE, align_)                                                                \
  TARGET static void K(name)(const float *a, const float *b, float *y, float s, int64_t n, int64_t passes, const ridge_ctx *ctx) { \
    const int64_t ahead = ctx->ahead;                                                                          \
    (void)ahead;                                                                                               \
    BANDWIDTH_LOOPS(STORE, FENCE, align_)                                                                      \
  }

#define BW_LOAD(p) (*(const bf *)((p) + i + (w + u) * BL))
#define BW_VECTOR vv
#define BW_ONE y[i] = value, (void)a, (void)b
BW_FUNCTION(write, ORDINARY, NO_FENCE, 0)
#ifdef NT_STORE
BW_FUNCTION(nt_write, NT_STORE, NT_FENCE, 1)
#endif
#undef BW_VECTOR
#undef BW_ONE
#define BW_VECTOR ((bf)((bu)BW_LOAD(a) ^ vp))
#define BW_ONE ((bw_word *)y)[i] = ((const bw_word *)a)[i] ^ (uint32_t)p, (void)b
BW_FUNCTION(copy, ORDINARY, NO_FENCE, 0)
#ifdef NT_STORE
BW_FUNCTION(nt_copy, NT_STORE, NT_FENCE, 1)
#endif
#undef BW_VECTOR
#undef BW_ONE
#define BW_VECTOR ((bf)((bu)BW_LOAD(y) + vp))
#define BW_ONE ((bw_word *)y)[i] += (uint32_t)p, (void)a, (void)b
BW_FUNCTION(update, ORDINARY, NO_FENCE, 0)
#undef BW_VECTOR
#undef BW_ONE
#define BW_VECTOR (BW_LOAD(a) + vv * BW_LOAD(b))
#define BW_ONE y[i] = a[i] + value * b[i]
BW_FUNCTION(triad, ORDINARY, NO_FENCE, 0)
#ifdef NT_STORE
BW_FUNCTION(nt_triad, NT_STORE, NT_FENCE, 1)
#endif
#undef BW_VECTOR
#undef BW_ONE

TARGET int K(bandwidth_fp32)(const void *args, const ridge_ctx *ctx) {
  const ridge_memory_args *g = args;
  const float *a = g->a, *b = g->b, s = (float)g->s;
  float *y = g->y;
  int64_t from, to;
  memory_share(g->n, 4, ctx, &from, &to);
  int64_t n = to - from, passes = g->steps;
  switch (g->access) {
    case RIDGE_ACCESS_READ: {
      if (ctx->workspace_bytes < (int64_t)ctx->nthreads * RIDGE_CACHE_LINE) return RIDGE_E_WORKSPACE;
      uint32_t *part = ctx->workspace, sum = 0;
      part[ctx->tid * (RIDGE_CACHE_LINE / 4)] = K(read_part)((const uint32_t *)g->a + from, n, passes, ctx);
      ridge_barrier(ctx);
      if (ctx->tid != 0) return RIDGE_OK;
      for (int t = 0; t < ctx->nthreads; t++) sum += part[t * (RIDGE_CACHE_LINE / 4)];
      *(uint32_t *)g->y = sum;
      return RIDGE_OK;
    }
    case RIDGE_ACCESS_WRITE: K(write)(NULL, NULL, y + from, s, n, passes, ctx); return RIDGE_OK;
    case RIDGE_ACCESS_COPY: K(copy)(a + from, NULL, y + from, s, n, passes, ctx); return RIDGE_OK;
    case RIDGE_ACCESS_UPDATE:
      K(write)(NULL, NULL, y + from, s, n, 1, ctx);
      K(update)(NULL, NULL, y + from, s, n, passes - 1, ctx);
      return RIDGE_OK;
    case RIDGE_ACCESS_TRIAD: K(triad)(a + from, b + from, y + from, s, n, passes, ctx); return RIDGE_OK;
#ifdef NT_STORE
    case RIDGE_ACCESS_NT_WRITE: K(nt_write)(NULL, NULL, y + from, s, n, passes, ctx); return RIDGE_OK;
    case RIDGE_ACCESS_NT_COPY: K(nt_copy)(a + from, NULL, y + from, s, n, passes, ctx); return RIDGE_OK;
    case RIDGE_ACCESS_NT_TRIAD: K(nt_triad)(a + from, b + from, y + from, s, n, passes, ctx); return RIDGE_OK;
#endif
  }
  return RIDGE_E_ARG;
}
