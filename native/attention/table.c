#include "table.h"

// Tiles of AMX: whole ones of 32 dimensions, a tile's keys on the stack. causal_softmax has no dimensions.
int ridge_attention_amx_takes(const void *args) {
  const attention_args *a = args;
  return (a->scores && a->weights) || (a->of.D % 32 == 0 && a->of.D <= 256);
}

// Weights rounded to bf16: eight standard units of their rounding (op.Attention.Expect).
#define ROUNDED(name, isa, rank, sup) RIDGE_DECLARE(name, "attention qk_softmax softmax_v causal_softmax", "bf16", "fp32", isa, rank, 5, 0, ridge_##name##_workspace, sup)
#define RIDGE_KERNEL RIDGE_DECLARE
#include "kernels.def"
#undef RIDGE_KERNEL
#undef ROUNDED

static const ridge_kernel table[] = {
#define ROUNDED(name, isa, rank, sup) \
  {#name, "attention qk_softmax softmax_v causal_softmax", "bf16", "fp32", isa, rank, 5, 0, ridge_##name, ridge_##name##_workspace, sup, 0, 8},
#define RIDGE_KERNEL RIDGE_ENTRY
#include "kernels.def"
#undef RIDGE_KERNEL
#undef ROUNDED
};

const ridge_kernel *ridge_attention_table(void) { return table; }
int ridge_attention_table_len(void) { return sizeof table / sizeof *table; }
