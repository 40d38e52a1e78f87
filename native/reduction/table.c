#include "table.h"

#include "sizes.h"

static int64_t reduce_workspace(const void *args, int32_t nthreads) { return rd_reduce_bytes(args, nthreads, 4); }
static int64_t reduce_workspace_fp64(const void *args, int32_t nthreads) { return rd_reduce_bytes(args, nthreads, 8); }
static int64_t softmax_workspace_fp32(const void *args, int32_t nthreads) { return rd_softmax_bytes(args, nthreads, 4); }
static int64_t softmax_workspace_bf16(const void *args, int32_t nthreads) { return rd_softmax_bytes(args, nthreads, 2); }

__attribute__((unused)) static int64_t add_norm_workspace(const void *args, int32_t nthreads) { return nthreads * 2 * rd_kept_bytes(args); }

// Non-temporal stores when x and y together outgrow the caches and rows are written whole (the
// softmax along dim 0 writes strips).
__attribute__((unused)) static int nt(const void *args, int64_t size) {
  const ridge_reduction_args *g = args;
  return g->dim != 0 && 2 * size * g->rows * g->cols > g->around;
}
__attribute__((unused)) static int add_nt(const void *args, int64_t size) { // x, r, z and y
  const ridge_reduction_args *g = args;
  return 4 * size * g->rows * g->cols > g->around;
}
__attribute__((unused)) static int nt_fp32(const void *args) { return nt(args, 4); }
__attribute__((unused)) static int nt_bf16(const void *args) { return nt(args, 2); }
__attribute__((unused)) static int add_nt_fp32(const void *args) { return add_nt(args, 4); }
__attribute__((unused)) static int add_nt_bf16(const void *args) { return add_nt(args, 2); }

#define RIDGE_KERNEL RIDGE_DECLARE
#include "kernels.def"
#undef RIDGE_KERNEL

static const ridge_kernel table[] = {
#define RIDGE_KERNEL RIDGE_ENTRY
#include "kernels.def"
#undef RIDGE_KERNEL
};

const ridge_kernel *ridge_reduction_table(void) { return table; }
int ridge_reduction_table_len(void) { return sizeof table / sizeof *table; }
