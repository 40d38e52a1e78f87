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
  int64_t multiplications; // dependent multiplications, a multiple of 16
  double *result;          // [1]: the upper 53 bits of 3*RIDGE_CLOCK_FACTOR^multiplications mod 2^64
} ridge_clock_args;

// The odd factor of the clock chain (op.clockFactor): a power of it never becomes trivial.
#define RIDGE_CLOCK_FACTOR 0x9E3779B97F4A7C15ull

typedef struct ridge_dispatch_args {
  double *result; // [1]: becomes 1
} ridge_dispatch_args;

#endif
