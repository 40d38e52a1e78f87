// gemm_fp64_avx512fp16_14x16: fp64 GEMM for AVX-512.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: the two 512-bit FMA units; per k 28 FMAs, 2 loads, 14 broadcasts as in the fp32 tile.
// Four panels of B, KC*64*8 = 128 KiB, and A's block MC*KC*8 = 256 KiB in L2. No activation. Loops as in the fp32
// kernel (gemm_own.h): 1.09 times version 1 (Goto's loops) at 1024^3, one thread, 1.14 with two, Zen 4.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp64_avx512fp16_14x16)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S double
#define GEMM_DOUBLE
#define GEMM_NO_ACT
#define GEMM_COVE
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 128
#define GEMM_KC 256
#define GEMM_NC 4096
#define GEMM_GIVEN_MC 128 // where B comes packed beforehand
#define GEMM_GIVEN_KC 256
#include "gemm_fma.h"
