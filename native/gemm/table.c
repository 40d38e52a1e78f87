#include "table.h"

#include "gemm_common.h"

int64_t ridge_gemm_hidden(const void *args, int32_t nthreads) { return 4 * nthreads * ((const ridge_gemm_args *)args)->H; }

int ridge_gemm_thick(const void *args) {
  const ridge_gemm_args *g = args;
  return g->M > GEMM_THIN || g->packing;
}
int ridge_gemm_dots(const void *args) {
  const ridge_gemm_args *g = args;
  return g->M > GEMM_THIN || g->trans_b || g->packing;
}

// GEMM_LINE is a kernel on gemm_driver.h: its workspace function is made by the template.
#define GEMM_LINE(name, ops, dtype, acc, isa, rank, c, sup) \
  int64_t ridge_ws_##name(const void *args, int32_t nthreads); \
  RIDGE_DECLARE(name, ops, dtype, acc, isa, rank, c, 1, ridge_ws_##name, sup)
#define GEMM_LINE_PACKED(name, ops, dtype, acc, isa, rank, c, sup) \
  int64_t ridge_ws_##name(const void *args, int32_t nthreads); \
  RIDGE_DECLARE_PACKED(name, ops, dtype, acc, isa, rank, c, 1, ridge_ws_##name, sup)
#define GEMM_MLP(name, kernel, isa, rank, sup) int ridge_##name(const void *args, const ridge_ctx *ctx);
#define RIDGE_KERNEL RIDGE_DECLARE
#include "kernels.def"
#undef RIDGE_KERNEL
#undef GEMM_LINE
#undef GEMM_LINE_PACKED
#undef GEMM_MLP

static const ridge_kernel table[] = {
#define GEMM_LINE(name, ops, dtype, acc, isa, rank, c, sup) \
  RIDGE_ENTRY(name, ops, dtype, acc, isa, rank, c, 1, ridge_ws_##name, sup)
#define GEMM_LINE_PACKED(name, ops, dtype, acc, isa, rank, c, sup) \
  RIDGE_ENTRY_PACKED(name, ops, dtype, acc, isa, rank, c, 1, ridge_ws_##name, sup)
#define GEMM_MLP(name, kernel, isa, rank, sup) \
  {#name, "mlp", "bf16", "fp32", isa, rank, 6, 0, ridge_##name, ridge_ws_##kernel, sup, 0, 8, ridge_##kernel##_pack, ridge_##kernel##_packed},
#define RIDGE_KERNEL RIDGE_ENTRY
#include "kernels.def"
#undef RIDGE_KERNEL
#undef GEMM_LINE
#undef GEMM_LINE_PACKED
#undef GEMM_MLP
};

const ridge_kernel *ridge_gemm_table(void) { return table; }
int ridge_gemm_table_len(void) { return sizeof table / sizeof *table; }
