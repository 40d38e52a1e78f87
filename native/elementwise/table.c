#include "table.h"

// Two fp32 vectors over the channels: batch norm's folded factor and addend.
static int64_t channel_workspace(const void *args, int32_t nthreads) {
  (void)nthreads;
  return 8 * ((const ridge_elementwise_args *)args)->channels;
}

// Non-temporal stores pay when the arrays outgrow the caches: they save reading the lines of
// y before they are overwritten. 64 MiB is beyond the last-level share of most processes.
#define NT_BYTES (64ll << 20)
__attribute__((unused)) static int nt_2n_fp32(const void *args) {
  return ((const ridge_elementwise_args *)args)->n > NT_BYTES / 8;
}
__attribute__((unused)) static int nt_3n_fp32(const void *args) {
  return ((const ridge_elementwise_args *)args)->n > NT_BYTES / 12;
}
__attribute__((unused)) static int nt_2n_bf16(const void *args) {
  return ((const ridge_elementwise_args *)args)->n > NT_BYTES / 4;
}
__attribute__((unused)) static int nt_3n_bf16(const void *args) {
  return ((const ridge_elementwise_args *)args)->n > NT_BYTES / 6;
}

#define RIDGE_KERNEL RIDGE_DECLARE
#include "kernels.def"
#undef RIDGE_KERNEL

static const ridge_kernel table[] = {
#define RIDGE_KERNEL RIDGE_ENTRY
#include "kernels.def"
#undef RIDGE_KERNEL
};

const ridge_kernel *ridge_elementwise_table(void) { return table; }
int ridge_elementwise_table_len(void) { return sizeof table / sizeof *table; }
