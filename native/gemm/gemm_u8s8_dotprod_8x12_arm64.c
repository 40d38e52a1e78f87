// gemm_u8s8_dotprod_8x12: u8 x s8 GEMM with int32 sums with NEON dot products.
//
// C[M,N] = A[M,K]*op(B) (+ D), row-major, any shape, pitch and alignment;
// C overlaps no input. Operations 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: sdot, 16 products each. B panel KC*12 = 12 KiB in L1.
// sdot takes s8 x s8: A is packed as A - 128, accumulators start at 128 * column sum of B.
// Source: Goto and van de Geijn 2008 for the blocking; Intel 64 and IA-32 SDM, Arm ARM for the instructions.
#include "variant.h"
#if !defined(__clang__) // scheduling before register allocation makes gcc 12 spill the tile's sums
#pragma GCC optimize("no-schedule-insns")
#endif
#define GEMM_NAME GEMM_KERNEL(gemm_u8s8_dotprod_8x12)
#define GEMM_TARGET GEMM_ON("arch=armv8.2-a+dotprod")
#define GEMM_KIND GEMM_SDOT
#define GEMM_A_SIGNED 0
#define GEMM_VEC 16
#define GEMM_MR 8
#define GEMM_NV 3
#define GEMM_MC 128
#define GEMM_KC 1024
#define GEMM_NC 4096
#include "gemm_dot.h"
