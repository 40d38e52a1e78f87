#include "badpeak.h"

#include "../../probe/peak.h"

#define CHAINS 12

// The portable peak's steps.
static inline __attribute__((always_inline)) void steps(int64_t turns, const void *operands, float *acc) {
  const float *op = operands;
  float a = op[0], b = op[2], x[CHAINS] = {0};
  for (; turns > 0; turns--)
    for (int s = 0; s < 4; s++) {
      for (int c = 0; c < CHAINS; c++) x[c] = x[c] * a + b;
      for (int c = 0; c < CHAINS; c++) x[c] = x[c] * a - b;
    }
  for (int c = 0; c < CHAINS; c++) acc[c] = x[c];
}

// Leaves the loop one turn early.
static void one_turn_short(int64_t turns, const void *operands, float *acc) { steps(turns - 1, operands, acc); }

// A quarter of the turns, as four accumulators folded into one would run.
static void folded(int64_t turns, const void *operands, float *acc) { steps(turns / 4, operands, acc); }

// All turns, but one of the twelve chains is dead.
static void dead_chain(int64_t turns, const void *operands, float *acc) {
  steps(turns, operands, acc);
  acc[CHAINS - 1] = 0;
}

RIDGE_PEAK_KERNEL(peak_fp32_short, static, float, CHAINS, 96, one_turn_short)
RIDGE_PEAK_KERNEL(peak_fp32_folded, static, float, CHAINS, 96, folded)
RIDGE_PEAK_KERNEL(peak_fp32_dead, static, float, CHAINS, 96, dead_chain)

static const ridge_kernel table[] = {
    {"peak_fp32_short_portable", "peak", "fp32", "fp32", RIDGE_ISA_NONE, 99, 0, 1, ridge_peak_fp32_short, NULL, NULL},
    {"peak_fp32_folded_portable", "peak", "fp32", "fp32", RIDGE_ISA_NONE, 99, 0, 1, ridge_peak_fp32_folded, NULL, NULL},
    {"peak_fp32_dead_portable", "peak", "fp32", "fp32", RIDGE_ISA_NONE, 99, 0, 1, ridge_peak_fp32_dead, NULL, NULL},
};

const struct ridge_kernel *ridge_badpeak_table(void) { return table; }
int ridge_badpeak_table_len(void) { return sizeof table / sizeof *table; }
