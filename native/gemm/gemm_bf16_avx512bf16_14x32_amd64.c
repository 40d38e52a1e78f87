// gemm_bf16_avx512bf16_14x32: bf16 GEMM with AVX512-BF16.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape but what is faster widened (table.c), pitch and alignment;
// C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: vdpbf16ps, 32 products each (Zen 4 one per cycle, Zen 5 two; Intel cores with AMX run
// it slower than fp32 and have the tile kernel). It flushes denormals. Sums of K blocks stay
// fp32 in the workspace. B panel KC*32*2 = 64 KiB, four in L2. Loops of gemm_own.h; a tile interleaves two
// rows of B as it packs them. One thread of Zen 4, before and now, of the probe: 1024^3 0.835, 0.933; 2048^3 0.872, 0.948.
// Rounding by vcvtneps2bf16 (gemm_half.h): 3136x256x64 1.14 times as fast, 512^3 1.02.
// Source: Goto and van de Geijn 2008 for the blocking; Intel 64 and IA-32 SDM, Arm ARM for the instructions.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_bf16_avx512bf16_14x32)
#define GEMM_MLP GEMM_KERNEL(mlp_bf16_avx512bf16_14x32)
#define GEMM_TARGET GEMM_ON("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_KIND GEMM_BF512
#define GEMM_NARROWS
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 128
#define GEMM_KC 1024
#define GEMM_NC 4096
#include "gemm_dot.h"
