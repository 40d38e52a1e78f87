// peak_{fp64,fp32}_sve_arm64: multiply-adds on scalable registers, all lanes active.
//
// 24 chains in z0..23, acc <- acc + a*b, a in z24/25, b in z26/27; 96 instructions per turn.
// Precondition: the arguments' vl is this machine's vector length. No bytes. Limit: two
// (Neoverse V1, 256 bits) to four (V2, 128 bits) pipes of latency 4 (Arm software
// optimisation guides): 16 chains needed.
// Version 1: as described.
#include "peak.h"
#include "table.h"

#define ARCH ".arch armv8.6-a+sve\n\t" // names for the assembler; emits nothing
#define OP(c, a, b, s) "fmla z" #c "." s ", p0/m, z" #a "." s ", z" #b "." s "\n\t"
#define ZERO(c, a, b, s) "mov z" #c ".d, #0\n\t"
#define STORE(c, a, b, s) "str z" #c ", [%[acc], #" #c ", mul vl]\n\t"
#define ALL(X, s) RIDGE_CHAINS24(X, 24, 25, 26, 27, s)

#define RUN(T, name, s)                                                                      \
  RIDGE_INLINE void name(int64_t turns, const void *operands, T *acc) {                      \
    __asm__ volatile(ARCH "ptrue p0.b\n\t"                                                   \
                     "ldr z24, [%[regs]]\n\tldr z25, [%[regs], #1, mul vl]\n\t"              \
                     "ldr z26, [%[regs], #2, mul vl]\n\tldr z27, [%[regs], #3, mul vl]\n\t"  \
                     ALL(ZERO, )                                                             \
                     ".p2align 6\n1:\n\t"                                                    \
                     RIDGE_4TIMES(ALL(OP, s))                                                \
                     "subs %[n], %[n], #1\n\tb.ne 1b\n\t"                                    \
                     ALL(STORE, )                                                            \
                     : [n] "+r"(turns)                                                       \
                     : [regs] "r"(operands), [acc] "r"(acc)                                  \
                     : "memory", "cc", "p0", RIDGE_V0_31);                                   \
  }

// The accumulators of the longest vectors (2048 bits) are 6 KiB; the sum covers what vl gives.
#define KERNEL(name, T, run)                                                                 \
  int ridge_##name(const void *args, const ridge_ctx *ctx) {                                 \
    const ridge_probe_args *p = args;                                                        \
    T acc[24 * 256 / sizeof(T)] RIDGE_ALIGNED;                                               \
    int64_t from, to, lanes = 24 * (p->vl / 8 / (int64_t)sizeof(T));                         \
    peak_share(p, ctx, &from, &to);                                                          \
    for (int64_t i = from; i < to; i++) {                                                    \
      run(peak_chunk(p, i) / 96, p->operands, acc);                                          \
      p->result[i] = peak_proved(p, peak_sum_##T(acc, lanes));                               \
    }                                                                                        \
    return RIDGE_OK;                                                                         \
  }

RUN(double, run_fp64, "d")
RUN(float, run_fp32, "s")
KERNEL(peak_fp64_sve_arm64, double, run_fp64)
KERNEL(peak_fp32_sve_arm64, float, run_fp32)

int32_t ridge_sve_bits(void) {
  int64_t bytes;
  __asm__(ARCH "rdvl %0, #1" : "=r"(bytes));
  return (int32_t)bytes * 8;
}

int ridge_peak_is_sve(const void *args) {
  const ridge_probe_args *p = args;
  return p->isa == RIDGE_PROBE_SVE && p->vl == ridge_sve_bits();
}
