// The contract between ridge's kernels and the platform that runs them. Headers only.
//
// A kernel is one function that every thread of the team calls with the same arguments
// (SPMD). It shares the work out by ctx->tid and ctx->nthreads, meets the others at
// ridge_barrier(ctx) where it must, and returns 0 or one of the RIDGE_E codes. It never
// allocates, prints, exits or reads globals: scratch memory is ctx->workspace, whose size
// the kernel's workspace function told. The team puts a barrier after every launch but between those of one thread (ridge_step).
#ifndef RIDGE_H
#define RIDGE_H

// Vector shuffles (gcc 12) and the newest instruction sets by name (clang 14).
#if defined(__clang__) ? __clang_major__ < 14 : !defined(__GNUC__) || __GNUC__ < 12
#error "ridge's kernels need gcc 12 or clang 14 or later, and binutils 2.38: choose another compiler with CC="
#endif

// By its costs for x86 in general gcc 12 folds the load of a vector into every operation that takes it: loops read a row of B two and three times,
// which cores that load one or two vectors a cycle wait for. By those for Intel's servers it keeps the vector. What it vectorises itself stays at 512 bits.
#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC target("tune=skylake-avx512,prefer-vector-width=512")
#endif

#include <stddef.h>
#include <stdint.h>

enum {
  RIDGE_OK = 0,
  RIDGE_E_ARG = 1,       // arguments outside the kernel's declared preconditions
  RIDGE_E_WORKSPACE = 2, // workspace smaller than asked for
  RIDGE_E_SYSTEM = 3,    // the operating system refused something (AMX permission, ...)
};

// Instruction-set bits a kernel may require; ISA names for Go are in native/kernel/isa.go.
#define RIDGE_ISA_NONE 0ull
#define RIDGE_ISA_SSE2 (1ull << 0)
#define RIDGE_ISA_AVX (1ull << 1)
#define RIDGE_ISA_AVX2 (1ull << 2)
#define RIDGE_ISA_FMA (1ull << 3)
#define RIDGE_ISA_F16C (1ull << 4)
#define RIDGE_ISA_AVX512F (1ull << 5)
#define RIDGE_ISA_AVX512BW (1ull << 6)
#define RIDGE_ISA_AVX512VL (1ull << 7)
#define RIDGE_ISA_AVX512DQ (1ull << 8)
#define RIDGE_ISA_AVX512VNNI (1ull << 9)
#define RIDGE_ISA_AVX512BF16 (1ull << 10)
#define RIDGE_ISA_AVX512FP16 (1ull << 11)
#define RIDGE_ISA_AVXVNNI (1ull << 12)
#define RIDGE_ISA_AMXTILE (1ull << 13)
#define RIDGE_ISA_AMXBF16 (1ull << 14)
#define RIDGE_ISA_AMXINT8 (1ull << 15)
#define RIDGE_ISA_AMXFP16 (1ull << 16)
#define RIDGE_ISA_NEON (1ull << 32)
#define RIDGE_ISA_DOTPROD (1ull << 33)
#define RIDGE_ISA_FP16ARM (1ull << 34)
#define RIDGE_ISA_BF16ARM (1ull << 35)
#define RIDGE_ISA_I8MM (1ull << 36)
#define RIDGE_ISA_SVE (1ull << 37)

// The usual combinations.
#define RIDGE_ISA_AVX2FMA (RIDGE_ISA_AVX | RIDGE_ISA_AVX2 | RIDGE_ISA_FMA | RIDGE_ISA_F16C)
#define RIDGE_ISA_AVX512 \
  (RIDGE_ISA_AVX2FMA | RIDGE_ISA_AVX512F | RIDGE_ISA_AVX512BW | RIDGE_ISA_AVX512VL | RIDGE_ISA_AVX512DQ)

#define RIDGE_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define RIDGE_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))

#define RIDGE_CACHE_LINE 64
#define RIDGE_INLINE static inline __attribute__((always_inline, unused))

// Unrolls the next loop completely or n times, on gcc and clang.
#define RIDGE_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define RIDGE_UNROLL(n) RIDGE_PRAGMA(clang loop unroll_count(n))
#define RIDGE_UNROLL_FULL RIDGE_PRAGMA(clang loop unroll(full))
#else
#define RIDGE_UNROLL(n) RIDGE_PRAGMA(GCC unroll n)
#define RIDGE_UNROLL_FULL RIDGE_PRAGMA(GCC unroll 32)
#endif
// RIDGE_UNROLL_FULL: completely, where the trip count becomes a constant of at most 32 by inlining;
// clang counts only literal bounds in RIDGE_UNROLL.

// Bytes rounded up to whole pages: what one thread alone writes in a workspace that all share takes so many, because the prefetchers of
// a core fetch lines beyond the end of what it works on, but not beyond the page, and another thread's lines come dirty from
// its core. Zen 3, two threads, softmax(S)*V of 8 x 32 x 64 in bf16 with scratch 64 bytes apart and pages apart: 13.9 and 13.2 us, and
// where the two CPUs share no last-level cache 20.6 and 13.6.
RIDGE_INLINE int64_t ridge_apart(int64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

struct ridge_team;

typedef struct ridge_ctx {
  int32_t tid;
  int32_t nthreads;
  void (*barrier)(struct ridge_team *team, int32_t tid);
  struct ridge_team *team;
  void *workspace; // shared by the team, 64-byte aligned, 2 MiB-aligned when large
  int64_t workspace_bytes;
  // Bytes that kernels ask ahead of what they read from memory, where its prefetchers alone keep too few lines on their way; 0: they do not.
  // Which processors: native.go.
  int32_t ahead;
  // Parts of what a thread has that kernels go through side by side where they read from memory, and write, which keeps more of a core's prefetchers at
  // work; kernels that read alone take as many as each gained by. 0: one after another. Which processors: native.go.
  int32_t runs;
} ridge_ctx;

RIDGE_INLINE void ridge_barrier(const ridge_ctx *ctx) {
  if (ctx->nthreads > 1) ctx->barrier(ctx->team, ctx->tid);
}

// The share of n items for one thread, in units of grain: [*from, *to).
RIDGE_INLINE void ridge_share(int64_t n, int64_t grain, int tid, int nthreads, int64_t *from, int64_t *to) {
  int64_t units = (n + grain - 1) / grain;
  int64_t lo = units * tid / nthreads * grain;
  int64_t hi = units * (tid + 1) / nthreads * grain;
  *from = lo < n ? lo : n;
  *to = hi < n ? hi : n;
}

// Pieces of what a thread goes through, [from, to): what lies before `begin`, then of `runs` equal parts one each in turn, and what is left; or all at once. Parts hold an odd
// number of pieces: a power of two apart they would meet in few sets of the caches.
typedef struct ridge_pieces {
  int64_t from, first, at, left, part, piece, rest, end; // first: end of the first piece; at, left: of the first part
  int32_t runs, run;
} ridge_pieces;

RIDGE_INLINE ridge_pieces ridge_pieces_of(int64_t from, int64_t begin, int64_t to, int64_t piece, int32_t runs) {
  const int64_t pieces = runs > 1 && to > begin ? (to - begin) / runs / piece : 0;
  if (pieces == 0) return (ridge_pieces){.from = from, .first = to, .rest = to, .end = to};
  const int64_t part = ((pieces - 1) | 1) * piece;
  return (ridge_pieces){from, begin, begin, part, part, piece, begin + runs * part, to, runs, 0};
}

// The next piece, or 0, which leaves from and to as they are.
RIDGE_INLINE int ridge_piece(ridge_pieces *p, int64_t *from, int64_t *to) {
  if (p->from < p->first) {
    *from = p->from, *to = p->from = p->first;
  } else if (p->left > 0) {
    *from = p->at + p->run * p->part, *to = *from + p->piece;
    if (++p->run == p->runs) p->run = 0, p->at += p->piece, p->left -= p->piece;
  } else if (p->rest < p->end) {
    *from = p->rest, *to = p->rest = p->end;
  } else {
    return 0;
  }
  return 1;
}

// Bytes of a working set above which non-temporal stores win where nothing is known of the caches: they save reading the lines before they are
// overwritten, which only costs where the set leaves the caches. Arguments that hold `around` have it for this machine (native/stores.go).
#define RIDGE_AROUND (64ll << 20)

typedef int (*ridge_kernel_fn)(const void *args, const ridge_ctx *ctx);
// Bytes of workspace for these arguments and thread count.
typedef int64_t (*ridge_workspace_fn)(const void *args, int32_t nthreads);
// 1 when the kernel can run these arguments (shape, alignment, epilogue), else 0.
typedef int (*ridge_supports_fn)(const void *args);

// An operand packed beforehand, as the weights of a trained network are: constants, turned once to the order that the kernel reads.
// Arguments that ask for it have `packing` 1; `packed` is then 64-byte aligned memory of as many bytes as the kernel's `packed` function tells,
// the same for every thread count. The team calls `pack` with it, with the kernel's workspace, after the inputs were written and outside
// every timed window; `fn` reads only the copy, never the operand itself, and writes neither. A kernel without `pack` never sees `packing` 1.

// One registered kernel: a line of the family's kernels.def.
typedef struct ridge_kernel {
  const char *name;  // op_dtype_arch[_variant]
  const char *ops;   // space-separated op names that it implements
  const char *dtype; // record.DType
  const char *acc;   // accumulator format
  uint64_t isa;      // all bits required
  int32_t rank;      // the highest runnable rank is preferred; < 0: only when forced (models for tests)
  double bound_c;    // |error| <= bound_c * u(acc) * magnitude + u(out) * |value|
  int32_t int_exact; // small integers give exact results in this kernel
  ridge_kernel_fn fn;
  ridge_workspace_fn workspace; // NULL: none needed
  ridge_supports_fn supports;   // NULL: everything
  double flop_share; // of the op's FLOP, what the algorithm executes at least; 0: all of it
  double rounded_c;  // + rounded_c * u(dtype) * rounded (op.Expectation): operands it computes are rounded to the dtype; 0: none are
  ridge_kernel_fn pack;      // NULL: it packs nothing beforehand
  ridge_workspace_fn packed; // bytes of what pack writes
} ridge_kernel;

// A family's kernels.def holds lines
//   RIDGE_KERNEL(name, "ops", "dtype", "acc", isa, rank, bound_c, int_exact, workspace, supports)
// and its table.c is: RIDGE_TABLE_BEGIN ... see native/gemm/table.c.
#define RIDGE_DECLARE(name, ops, dtype, acc, isa, rank, c, exact, ws, sup) \
  int ridge_##name(const void *args, const ridge_ctx *ctx);
#define RIDGE_ENTRY(name, ops, dtype, acc, isa, rank, c, exact, ws, sup) \
  {#name, ops, dtype, acc, isa, rank, c, exact, ridge_##name, ws, sup},
// RIDGE_KERNEL_PACKED is a RIDGE_KERNEL with ridge_NAME_pack and ridge_NAME_packed.
#define RIDGE_DECLARE_PACKED(name, ops, dtype, acc, isa, rank, c, exact, ws, sup) \
  RIDGE_DECLARE(name, ops, dtype, acc, isa, rank, c, exact, ws, sup)              \
  int ridge_##name##_pack(const void *args, const ridge_ctx *ctx);                \
  int64_t ridge_##name##_packed(const void *args, int32_t nthreads);
#define RIDGE_ENTRY_PACKED(name, ops, dtype, acc, isa, rank, c, exact, ws, sup) \
  {#name, ops, dtype, acc, isa, rank, c, exact, ridge_##name, ws, sup, .pack = ridge_##name##_pack, .packed = ridge_##name##_packed},

#endif
