// gemm_int8_amx_32x32: int8 (s8 x s8) GEMM with int32 sums with AMX-INT8.
//
// C[M,N] = A[M,K]*op(B) (+ D), row-major, any shape, pitch and alignment;
// C overlaps no input. Operations 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: the tile unit, 16*16*64 products in 16 cycles (2048 operations per cycle). Loops, what
// they move and what was tried: gemm_tiles.h. KC, MC, NC: 9 steps of K (16 for many rows: gemm_tiles.h), rows and columns of sums in L2.
// Source: Goto and van de Geijn 2008 for the blocking; Intel 64 and IA-32 SDM, Arm ARM for the instructions.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_int8_amx_32x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_KIND GEMM_AMX_INT8
#define GEMM_A_SIGNED 1
#define GEMM_MC 480
#define GEMM_KC 576
#define GEMM_NC 512
#include "gemm_dot.h"
