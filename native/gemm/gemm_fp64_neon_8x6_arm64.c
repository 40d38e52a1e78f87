// gemm_fp64_neon_8x6: fp64 GEMM for NEON (ASIMD).
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: the FMA pipes; per k 24 FMAs, 3 loads of B, 4 of A. B panel KC*6*8 = 12 KiB in L1, A
// block MC*KC*8 = 128 KiB in L2. No activation.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#if !defined(__clang__) // scheduling before register allocation makes gcc 12 spill the tile's sums
#pragma GCC optimize("no-schedule-insns")
#endif
#define GEMM_NAME GEMM_KERNEL(gemm_fp64_neon_8x6)
#define GEMM_TARGET
#define GEMM_S double
#define GEMM_DOUBLE
#define GEMM_NO_ACT
#define GEMM_VEC 16
#define GEMM_MR 8
#define GEMM_NV 3
#define GEMM_MC 64
#define GEMM_KC 256
#define GEMM_NC 3072
#include "gemm_fma.h"
