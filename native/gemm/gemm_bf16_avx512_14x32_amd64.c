// gemm_bf16_avx512_14x32: bf16 GEMM for AVX-512 without bf16 instructions.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// bf16 has no vector arithmetic on this instruction set: A and B become fp32 while they are
// packed (a 16-bit shift), the tile is that of gemm_fp32_avx512_14x32, sums of K blocks stay fp32 in the workspace
// and are rounded to bf16 once. Limit: the FMA units, as there; packing is O(MK + KN).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_bf16_avx512_14x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_HALF GEMM_IS_BF16
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_THIN_MEMORY (8 << 20)
#define GEMM_NV 2
#define GEMM_MC 128
#define GEMM_KC 512
#define GEMM_NC 4096
#include "gemm_fma.h"
