// y = A*x (template): the one-row case of gemm_thin.h alone. Macros as gemm_fma.h, without a
// register tile.
#include "gemm_common.h"

#include "gemm_types.h"

#include "gemm_epilogue.h"
#include "gemm_thin.h"

int GEMM_PASTE(ridge, GEMM_NAME)(const void *args, const ridge_ctx *ctx) { return GEMM_F(thin)(args, ctx); }

#include "gemm_undef.h"
