#include "table.h"

// Two fp32 vectors over the channels: batch norm's folded factor and addend.
static int64_t channel_workspace(const void *args, int32_t nthreads) {
  (void)nthreads;
  return 8 * ((const ridge_elementwise_args *)args)->channels;
}
// And once more, even channels before odd.
static int64_t channel_workspace_bf16(const void *args, int32_t nthreads) { return 2 * channel_workspace(args, nthreads); }

// Non-temporal stores pay when all arrays together outgrow the caches.
__attribute__((unused)) static int outgrows(const void *args, int64_t bytes_per_element) {
  const ridge_elementwise_args *g = args;
  return g->n > g->around / bytes_per_element;
}
__attribute__((unused)) static int nt_2n_fp32(const void *args) { return outgrows(args, 8); }
__attribute__((unused)) static int nt_3n_fp32(const void *args) { return outgrows(args, 12); }
__attribute__((unused)) static int nt_2n_bf16(const void *args) { return outgrows(args, 4); }
__attribute__((unused)) static int nt_3n_bf16(const void *args) { return outgrows(args, 6); }
__attribute__((unused)) static int nt_5n(const void *args) { return outgrows(args, 5); }

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
