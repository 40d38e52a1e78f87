// gemm_fp16_avx512_14x32: fp16 GEMM for AVX-512.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// fp16 has no vector arithmetic on this instruction set: A and B become fp32 while they are
// packed (vcvtph2ps), the tile is that of gemm_fp32_avx512_14x32, sums of K blocks stay fp32 in the workspace
// and are rounded to fp16 once. Limit: the FMA units, as there; packing is O(MK + KN).
// AVX512-FP16 arithmetic is not used: it would accumulate in fp16, as gemm_fp16_avx512fp16_14x32 does where a case allows it.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp16_avx512_14x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_HALF GEMM_IS_FP16
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 128
#define GEMM_KC 512
#define GEMM_NC 4096
#include "gemm_fma.h"
