// gemm_fp32_avx512_14x32: fp32 GEMM for AVX-512.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: the two 512-bit FMA units. Per k 28 FMAs (14 cycles), 2 loads and 14 broadcasts: 16
// of 28 load slots. 28 accumulators, 2 of B, broadcasts as memory operands or in the 2 left
// of 32 registers. B panel KC*32*4 = 32 KiB in a 48 KiB L1 (32 KiB L1: streams from L2 at one
// line per 7 FMAs), A block MC*KC*4 = 168 KiB in L2.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx512_14x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S float
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_NV 2
#define GEMM_MC 168
#define GEMM_KC 256
#define GEMM_NC 4096
#include "gemm_fma.h"
