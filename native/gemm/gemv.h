// y = A*x (template): the one-row case of gemm_dots.h alone. Macros as gemm_fma.h, without a
// register tile.
#include "gemm_common.h"

#define GEMM_PK 1

#include "gemm_types.h"

#include "gemm_epilogue.h"
#include "gemm_dots.h"

int GEMM_PASTE(ridge, GEMM_NAME)(const void *args, const ridge_ctx *ctx) { return GEMM_F(run_dots)(args, ctx); }

#include "gemm_undef.h"
