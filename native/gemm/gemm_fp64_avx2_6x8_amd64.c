// gemm_fp64_avx2_6x8: fp64 GEMM for AVX2 with FMA.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: the two FMA units; per k 12 FMAs, 2 loads and 6 broadcasts as in the fp32 tile. B
// panel KC*8*8 = 16 KiB in L1, A block MC*KC*8 = 144 KiB in L2. No activation.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp64_avx2_6x8)
#define GEMM_TARGET GEMM_ON("avx2,fma,f16c")
#define GEMM_S double
#define GEMM_DOUBLE
#define GEMM_NO_ACT
#define GEMM_VEC 32
#define GEMM_MR 6
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 72
#define GEMM_KC 256
#define GEMM_NC 4096
#include "gemm_fma.h"
