// gemm_fp16_neon_8x12: fp16 GEMM for NEON.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// fp16 has no vector arithmetic on this instruction set: A and B become fp32 while they are
// packed (fcvtl), the tile is that of gemm_fp32_neon_8x12, sums of K blocks stay fp32 in the workspace
// and are rounded to fp16 once. Limit: the FMA units, as there; packing is O(MK + KN).
#include "variant.h"
#if !defined(__clang__) // scheduling before register allocation makes gcc 12 spill the tile's sums
#pragma GCC optimize("no-schedule-insns")
#endif
#define GEMM_NAME GEMM_KERNEL(gemm_fp16_neon_8x12)
#define GEMM_TARGET
#define GEMM_HALF GEMM_IS_FP16
#define GEMM_VEC 16
#define GEMM_MR 8
#define GEMM_NV 3
#define GEMM_MC 128
#define GEMM_KC 256
#define GEMM_NC 3072
#include "gemm_fma.h"
