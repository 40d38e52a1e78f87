// The bodies of the stream kernels, for vectors of VB bytes:
//
//   y[i] = f(a[i], b[i]),  i in the thread's part of [0, n)
//
// Preconditions: pointers aligned to their element, y does not overlap a or b. FLOP and bytes:
// memory.h. Binding limit: one store of VB bytes per cycle in L1, memory below it. Per VB bytes
// of y a loop has its loads (folded into arithmetic), one store and 2/4 of loop overhead.
//
// The including file defines VB, TARGET (function attribute), K(name) (the kernel's name with
// its suffix) and, where the ISA has non-temporal stores, KNT(name), NT_STORE(p, v0, v1) of two
// vectors (p aligned to both) and NT_FENCE(); where it has one, ROUND_PAIR(even, odd) of ridge_round_pair.h.
// GNU vectors, written once: every ISA and the portable fallback share this text.
#include "../include/ridge_round_pair.h"
#include "../include/ridge_runs.h"
#include "memory.h"

typedef float vf __attribute__((vector_size(VB), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(VB), aligned(8), may_alias));
typedef uint16_t vh __attribute__((vector_size(VB), aligned(2), may_alias));

// Asks for two lines of an operand that many bytes further on (ridge_ctx); a and b are NULL where there is none.
#define MEMORY_ASK(p, i)                                                                           \
  do {                                                                                             \
    if (ahead && (p)) {                                                                            \
      __builtin_prefetch((const char *)((p) + (i)) + ahead);                                       \
      __builtin_prefetch((const char *)((p) + (i)) + ahead + RIDGE_CACHE_LINE);                    \
    }                                                                                              \
  } while (0)

#define LOAD_VECTOR(p) (*(const V *)((p) + i + u * L))
#define LOAD_PAIR(p) (*(const V *)((p) + i + (w + u) * L))
#define LOAD_SCALAR(p) ((p)[i])

#define E_COPY(LOAD, s) LOAD(a)
#define E_FILL(LOAD, s) (s)
#define E_SCALE(LOAD, s) ((s) * LOAD(a))
#define E_ADD_SCALAR(LOAD, s) (LOAD(a) + (s))
#define E_ADD(LOAD, s) (LOAD(a) + LOAD(b))
#define E_TRIAD(LOAD, s) (LOAD(a) + (s) * LOAD(b))
#define E_AXPY(LOAD, s) ((s) * LOAD(a) + LOAD(b))

#define SCALAR_LOOP(E, end)           \
  for (; i < (end); i++) {            \
    y[i] = (T)(E(LOAD_SCALAR, s));    \
    MEMORY_OPAQUE();                  \
  }

#define STREAM_BEGIN(function, T_, V_, SCALAR)                             \
  TARGET int function(const void *args, const ridge_ctx *ctx) {            \
    typedef T_ T;                                                          \
    typedef V_ V;                                                          \
    enum { L = VB / sizeof(T) };                                           \
    const ridge_memory_args *g = args;                                     \
    const T *a = g->a, *b = g->b, s = SCALAR(g->s);                        \
    T *y = g->y;                                                           \
    const V vs = (V){0} + s;                                               \
    int64_t i, to;                                                         \
    memory_share(g->n, sizeof(T), ctx, &i, &to);                           \
    (void)a, (void)b, (void)s, (void)vs;

#define STREAM(name, T_, V_, SCALAR, E)                                                      \
  STREAM_BEGIN(K(name), T_, V_, SCALAR)                                                         \
    for (; i + 4 * L <= to; i += 4 * L) {                                                    \
      RIDGE_UNROLL(4) for (int u = 0; u < 4; u++) *(V *)(y + i + u * L) = E(LOAD_VECTOR, vs); \
      MEMORY_OPAQUE();                                                                       \
    }                                                                                        \
    SCALAR_LOOP(E, to)                                                                       \
    return RIDGE_OK;                                                                         \
  }

// Two whole lines per iteration.
#define STREAM_NT(name, T_, V_, SCALAR, E)                                                          \
  STREAM_BEGIN(KNT(name), T_, V_, SCALAR)                                                          \
    int64_t head = i + (int64_t)(-((uintptr_t)(y + i) / sizeof(T)) % (RIDGE_CACHE_LINE / sizeof(T))); \
    if (head > to) head = to;                                                                       \
    SCALAR_LOOP(E, head)                                                                            \
    enum { U = 2 * RIDGE_CACHE_LINE / VB };                                                         \
    const int64_t ahead = ctx->ahead;                                                               \
    ridge_pieces pieces = ridge_pieces_of(i, i, to, MEMORY_PIECE / sizeof(T), a ? ctx->runs : 0);   \
    for (int64_t end; ridge_piece(&pieces, &i, &end);)                                              \
      for (; i + U * L <= end; i += U * L) {                                                        \
        MEMORY_ASK(a, i);                                                                           \
        MEMORY_ASK(b, i);                                                                           \
        RIDGE_UNROLL(8) for (int w = 0; w < U; w += 2) {                                            \
          V v0, v1;                                                                                 \
          { enum { u = 0 }; v0 = E(LOAD_PAIR, vs); }                                                \
          { enum { u = 1 }; v1 = E(LOAD_PAIR, vs); }                                                \
          NT_STORE(y + i + w * L, v0, v1);                                                          \
        }                                                                                           \
      }                                                                                             \
    NT_FENCE();                                                                                     \
    SCALAR_LOOP(E, to)                                                                              \
    return RIDGE_OK;                                                                                \
  }

#define TO_BF16(s) ridge_float_to_bf16((float)(s))

#ifdef NT_STORE
#define STREAM_BOTH(...) STREAM(__VA_ARGS__) STREAM_NT(__VA_ARGS__)
#else
#define STREAM_BOTH(...) STREAM(__VA_ARGS__)
#endif

STREAM_BOTH(copy_fp32, float, vf, (float), E_COPY)
STREAM_BOTH(copy_bf16, uint16_t, vh, TO_BF16, E_COPY)
STREAM_BOTH(copy_fp64, double, vd, (double), E_COPY)
STREAM_BOTH(fill_fp32, float, vf, (float), E_FILL)
STREAM_BOTH(fill_bf16, uint16_t, vh, TO_BF16, E_FILL)
STREAM_BOTH(add_scalar_fp32, float, vf, (float), E_ADD_SCALAR)
STREAM_BOTH(stream_scale_fp32, float, vf, (float), E_SCALE)
STREAM_BOTH(stream_scale_fp64, double, vd, (double), E_SCALE)
STREAM_BOTH(stream_add_fp32, float, vf, (float), E_ADD)
STREAM_BOTH(stream_add_fp64, double, vd, (double), E_ADD)
STREAM_BOTH(stream_triad_fp32, float, vf, (float), E_TRIAD)
STREAM_BOTH(stream_triad_fp64, double, vd, (double), E_TRIAD)
STREAM_BOTH(axpy_fp32, float, vf, (float), E_AXPY)
STREAM_BOTH(axpy_fp64, double, vd, (double), E_AXPY)

// add_scalar_bf16: a 32-bit lane holds two elements. Each half, moved to the top of a lane, is an
// fp32 number, so no shuffle is needed: add, round to nearest even, put the halves together (ridge_round_pair.h): 9 operations
// for two vectors' worth of elements. Zen 4, 1024x1024, two threads: 64 us with the rounding of each number by itself and a test for NaN, 28 now.
typedef uint32_t vw __attribute__((vector_size(VB), aligned(2), may_alias));

#ifndef ROUND_PAIR
#define ROUND_PAIR(e, o) RIDGE_ROUND_PAIR_PLAIN(e, o)
#endif

#define BF16_PAIR(out, at)                                                           \
  {                                                                                  \
    const vw x_ = *(const vw *)(a + (at));                                           \
    const vw even_ = (vw)((vf)(x_ << 16) + vs), odd_ = (vw)((vf)(x_ & 0xffff0000u) + vs); \
    out = (vw)ROUND_PAIR(even_, odd_);                                               \
  }

#define E_ADD_BF16(LOAD, s) ridge_float_to_bf16(ridge_bf16_to_float(LOAD(a)) + (float)g->s)

#define ADD_BF16(function, HEAD, RUNS, STORE, FENCE)                                         \
  TARGET int function(const void *args, const ridge_ctx *ctx) {                              \
    typedef uint16_t T;                                                                      \
    enum { L = VB / 2 };                                                                     \
    const ridge_memory_args *g = args;                                                       \
    const uint16_t *a = g->a;                                                                \
    uint16_t *y = g->y;                                                                      \
    const vf vs = (vf){0} + (float)g->s;                                                     \
    int64_t i, to;                                                                           \
    memory_share(g->n, sizeof(T), ctx, &i, &to);                                             \
    HEAD                                                                                     \
    ridge_pieces pieces = ridge_pieces_of(i, i, to, MEMORY_PIECE / sizeof(T), RUNS);         \
    for (int64_t end; ridge_piece(&pieces, &i, &end);)                                       \
      for (; i + 4 * L <= end; i += 4 * L)                                                   \
        RIDGE_UNROLL(2) for (int w = 0; w < 4; w += 2) {                                     \
          vw v0, v1;                                                                         \
          BF16_PAIR(v0, i + w * L)                                                           \
          BF16_PAIR(v1, i + (w + 1) * L)                                                     \
          STORE(y + i + w * L, v0, v1);                                                      \
        }                                                                                    \
    FENCE();                                                                                 \
    SCALAR_LOOP(E_ADD_BF16, to)                                                              \
    return RIDGE_OK;                                                                         \
  }

#define STORE_PAIR(p, v0, v1) *(vw *)(p) = v0, *(vw *)((p) + L) = v1
#define NOTHING() ((void)0)
ADD_BF16(K(add_scalar_bf16), , 0, STORE_PAIR, NOTHING)
#ifdef NT_STORE
ADD_BF16(KNT(add_scalar_bf16), int64_t head = i + (int64_t)(-((uintptr_t)(y + i) / 2) % 32); if (head > to) head = to;
         SCALAR_LOOP(E_ADD_BF16, head), ctx->runs, NT_STORE, NT_FENCE)
#endif

// dot: per thread 8 chains of vectors (2 loads feed one fused multiply-add, so the load ports
// bind first), folded in a fixed order; thread 0 adds the threads' sums in their order. From memory several parts of what a thread has go side by
// side, where the machine reads them faster (ridge_ctx.runs): Ice Lake, one thread, arrays of 16 to 256 MiB each, of
// one part's speed: six parts 1.29 to 1.31, four 1.21 to 1.27, eight to sixteen 1.22 to 1.29; of 8 MiB six 0.99, four 1.03, eight 0.94.
enum { DOT_PARTS = 6 };
#define DOT_STEPS(end, ASK)                                                                   \
  for (; i + U * L <= (end); i += U * L) {                                                    \
    ASK                                                                                       \
    RIDGE_UNROLL(8) for (int u = 0; u < U; u++) acc[u] += LOAD_VECTOR(a) * LOAD_VECTOR(b);    \
  }
#define DOT_ASK                                                                               \
  RIDGE_UNROLL(8) for (int u = 0; u < U * VB; u += 2 * RIDGE_CACHE_LINE) {                    \
    MEMORY_ASK(a, i + u / (int)sizeof(T));                                                    \
    MEMORY_ASK(b, i + u / (int)sizeof(T));                                                    \
  }
#define DOT(name, T_, V_)                                                                     \
  TARGET int K(name)(const void *args, const ridge_ctx *ctx) {                                \
    typedef T_ T;                                                                             \
    typedef V_ V;                                                                             \
    enum { L = VB / sizeof(T), U = 8 };                                                       \
    const ridge_memory_args *g = args;                                                        \
    const T *a = g->a, *b = g->b;                                                             \
    if (ctx->workspace_bytes < (int64_t)ctx->nthreads * RIDGE_CACHE_LINE) return RIDGE_E_WORKSPACE; \
    int64_t i, to;                                                                            \
    memory_share(g->n, sizeof(T), ctx, &i, &to);                                              \
    V acc[U];                                                                                 \
    RIDGE_UNROLL(8) for (int u = 0; u < U; u++) acc[u] = (V){0};                              \
    if (ridge_from_memory(2 * g->n * (int64_t)sizeof(T), ctx)) {                              \
      const int64_t ahead = ctx->ahead;                                                       \
      ridge_pieces pieces = ridge_pieces_of(i, i, to, MEMORY_PIECE / sizeof(T), DOT_PARTS);   \
      for (int64_t end; ridge_piece(&pieces, &i, &end);) DOT_STEPS(end, DOT_ASK)              \
    }                                                                                         \
    DOT_STEPS(to, )                                                                           \
    RIDGE_UNROLL(4) for (int u = 0; u < 4; u++) acc[u] += acc[u + 4];                         \
    V sum = (acc[0] + acc[2]) + (acc[1] + acc[3]);                                            \
    T lane[L], total = 0;                                                                     \
    memcpy(lane, &sum, VB);                                                                   \
    for (int64_t u = 0; i < to; i++, u = (u + 1) % L) lane[u] += a[i] * b[i];                 \
    for (int u = 0; u < (int)L; u++) total += lane[u];                                        \
    char *part = ctx->workspace;                                                              \
    *(T *)(part + (int64_t)ctx->tid * RIDGE_CACHE_LINE) = total;                              \
    ridge_barrier(ctx);                                                                       \
    if (ctx->tid == 0) {                                                                      \
      T all = 0;                                                                              \
      for (int t = 0; t < ctx->nthreads; t++) all += *(T *)(part + (int64_t)t * RIDGE_CACHE_LINE); \
      *(T *)g->y = all;                                                                       \
    }                                                                                         \
    return RIDGE_OK;                                                                          \
  }

DOT(dot_fp32, float, vf)
DOT(dot_fp64, double, vd)
