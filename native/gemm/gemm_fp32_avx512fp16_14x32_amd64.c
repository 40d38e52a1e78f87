// gemm_fp32_avx512fp16_14x32: fp32 GEMM for AVX-512.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: the two 512-bit FMA units. Per k 28 FMAs (14 cycles), 2 loads and 14 broadcasts: 16
// of 28 load slots; on Zen 4, with one 512-bit FMA a cycle, 28 cycles. 28 accumulators, 2 of B, 1 broadcast of
// 32 registers. A block MC*KC*4 = 256 KiB and four panels of B, 256 KiB, in L2; both stream through
// L1 at 184 bytes in 28 cycles, which costs nothing measurable.
// Version 1: tiles of 14 rows padded with zeros, KC 256, MC 168, Goto's loops. Zen 4, of the FMA probe, one thread:
// 0.88 at 1024^3, 0.90 at 2048^3. Version 2: tiles of every height that pack B themselves, each thread on its own
// (gemm_exact.h, gemm_own.h), KC 512, MC 128, a row of a tile in one piece of assembly: 0.93-0.98 and 0.95-0.975.
// Version 3: sums leave a tile row by row, packing beside goes by general registers: 256^3 1.013 times as fast, 512^3 1.011, 4096x256x64 1.02.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx512fp16_14x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S float
#define GEMM_COVE
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 256
#define GEMM_KC 256
#define GEMM_NC 4096
#define GEMM_GIVEN_MC 128 // where B comes packed beforehand
#define GEMM_GIVEN_KC 512
#include "gemm_fma.h"
