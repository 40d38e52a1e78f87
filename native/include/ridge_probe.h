// Arguments of the probe family: register-only arithmetic peaks, the clock chain and the
// empty dispatch. Each probe proves what it executed by the value it leaves in result.
#ifndef RIDGE_PROBE_H
#define RIDGE_PROBE_H

#include "ridge.h"

// Instruction sets of a peak, in the order of op.PeakISAs.
enum {
  RIDGE_PROBE_PORTABLE,
  RIDGE_PROBE_SSE2,
  RIDGE_PROBE_AVX2,
  RIDGE_PROBE_AVX512,
  RIDGE_PROBE_AVX512FP16,
  RIDGE_PROBE_AVX512BF16,
  RIDGE_PROBE_AVX512VNNI,
  RIDGE_PROBE_AVXVNNI,
  RIDGE_PROBE_AMX,
  RIDGE_PROBE_NEON,
  RIDGE_PROBE_DOTPROD,
  RIDGE_PROBE_BF16ARM,
  RIDGE_PROBE_I8MM,
  RIDGE_PROBE_SVE,
};

// Arithmetic instructions that every peak kernel can divide into whole loop turns: the
// least common multiple of 96 (12, 24 or 4 chains) and 56 (14 chains of SSE2 pairs).
#define RIDGE_PROBE_UNIT 672

typedef struct ridge_probe_args {
  int64_t instructions; // arithmetic instructions over all threads, a multiple of RIDGE_PROBE_UNIT
  int64_t chunk;        // instructions that one element of result proves (the last may be less)
  int32_t isa;          // RIDGE_PROBE_*
  int32_t vl;           // SVE vector length in bits, else 0
  const void *operands; // registers a0, a1, b0, b1, one after the other, 64-byte aligned
  double step_sum;      // what one step of all chains adds to the sum over all lanes of all accumulators
  int64_t step_instructions; // arithmetic instructions of one step of all chains
  double *result;            // [ceil(instructions/chunk)]: instructions proved per chunk
} ridge_probe_args;

typedef struct ridge_clock_args {
  int64_t steps;  // dependent steps of 3 cycles, a multiple of 16: x *= f, on arm64 three times x += f
  double *result; // [1]: the upper 53 bits of the last x, which starts at 3; f is RIDGE_CLOCK_FACTOR
} ridge_clock_args;

// The odd factor of the clock chain (op.clockFactor): a power of it never becomes trivial.
#define RIDGE_CLOCK_FACTOR 0x9E3779B97F4A7C15ull

// One step of the chain as assembly text, from operands named x and f: 3 cycles. imul on
// x86-64 (op.ClockStepCycles names the cores); additions of registers on arm64, where the
// latency of mul differs between cores. They are not folded at rename as additions of
// immediates are on newer cores.
#if defined(__x86_64__)
#define RIDGE_CLOCK_STEP "imulq %[f], %[x]\n\t"
#elif defined(__aarch64__)
#define RIDGE_CLOCK_STEP "add %[x], %[x], %[f]\n\tadd %[x], %[x], %[f]\n\tadd %[x], %[x], %[f]\n\t"
#endif

typedef struct ridge_dispatch_args {
  double *result; // [1]: becomes 1
} ridge_dispatch_args;

#endif
