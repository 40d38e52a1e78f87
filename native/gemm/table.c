#include "table.h"

#include "gemm_common.h"

int64_t ridge_gemm_hidden(const void *args, int32_t nthreads) { return 4 * nthreads * ((const ridge_gemm_args *)args)->H; }

int ridge_gemm_thick(const void *args) {
  const ridge_gemm_args *g = args;
  return g->M > GEMM_THIN || g->packing;
}

// Whether a product of bf16 goes faster widened to fp32, where A and B lie, than as dot products of pairs, for which both are packed, N padded to 32: one vector of
// columns, few rows, K so short that a dot product is mostly the addition of its lanes, one or two columns by which A is read once (gemm_dots_tall.h).
// Zen 4, one thread, of the rate packed: 300x1x1000 9.1, 300x4x256 4.0, 8^3 2.0, 16^3 1.8, B stored [N,K] 1x1000x16 7.8, 300x4x256 3.9; docs/kernels/gemm.md. Some limits
// are those of gemm_small_way.h and gemm_dots_tall.h.
static int widens(const ridge_gemm_args *g) {
  const int64_t M = g->M, N = g->N, K = g->K;
  if (g->layers || (g->mc | g->kc | g->nc)) return 0;
  if (!g->trans_b && M > GEMM_THIN && K > GEMM_SLIM_K) return M >= 9 && N <= 12; // what else widens packs panels then: 300x16x6000 0.56, 8x8x6000 0.85
  if (!g->trans_b && N > 12 && M > 16 && K > 3072) return 0; // 64x16x4096 0.89, K of 3000 1.12
  if (!g->trans_b) return M <= GEMM_THIN || (N == 1 ? M < 12 || K >= 32 : N <= (M <= 6 ? 24 : 16));
  if (M <= 64 && N <= 2 && M >= 16 && K >= 32) return 1;
  if (M <= 64) return K <= 24 && (N <= 16 ? M <= 12 || N >= 14 : M * K <= 168) && N <= 4096 && N * K * 4 <= GEMM_SMALL_B && M * N * K <= GEMM_SMALL_MACS;
  return N <= 12 ? N * (K / 32 + 5) < K * 2 / 5 : N <= 16 && K <= 64;
}

int ridge_gemm_dots(const void *args) {
  const ridge_gemm_args *g = args;
  return g->packing || !widens(g);
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
