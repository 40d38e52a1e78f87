// gemm_fp16_amx_32x32: fp16 GEMM with AMX-FP16.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape with M > 3, pitch and alignment;
// C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: the tile unit, 16*16*32 products in 16 cycles (1024 FLOP per cycle). Sums of K blocks
// stay fp32 in the workspace. Loops, what they
// move and what was tried: gemm_tiles.h. KC, MC, NC: 9 steps of K (16 for many rows: gemm_tiles.h), rows and columns of sums in L2.
// Source: Goto and van de Geijn 2008 for the blocking; Intel 64 and IA-32 SDM, Arm ARM for the instructions.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp16_amx_32x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_KIND GEMM_AMX_FP16
#define GEMM_MC 480
#define GEMM_KC 288
#define GEMM_NC 512
#include "gemm_dot.h"
