// gemm_fp32_avx512intel_6x64: fp32 GEMM of many rows for Intel's cores with AVX-512 (plain AVX-512 runs it anywhere).
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and
// C once plus packed B. The loops of gemm_fp32_avx512_14x32 (gemm_own.h) with tiles of 6 rows by 4 vectors that read A where it lies (GEMM_LYING).
// Limit: the two 512-bit multiply-adds. Per k 24 of them (12 cycles), 4 loads and 6 broadcasts: 10 loads and 34 instructions, where 14x2 has 16 loads and
// 44 instructions for 28. That counts on Ice Lake, which loads 1.13 vectors of 512 bits a cycle, and beside a busy thread on the core's other half, which
// leaves 2.4 instructions a cycle (docs/kernels/gemm.md): tiles alone, quiet, 1.00 of the FMA probe for 0.95, beside it 0.78 for 0.73.
// A is not packed: six rows are six streams and 6 KiB, in L1 for four panels of B, and packing takes 0.45 cycles an element, 5 % at N = 256.
// The last panel's columns go by vectors (tail_tile). Panels of 64 x KC, 64 KiB, stream from L2, a group of four for all rows up to MC.
// Ice Lake, one thread, against gemm_fp32_avx512intel_14x32: 512^3 1.09, packed beforehand 1.09, 1024^3 1.07, 1.05 (the last step from another run), 504x256x256 packed 1.12,
// 300x700x900 1.09, 1.04; few rows less (8x1024x1024 0.81, 64x3072x768 packed 0.93): gemm.go takes it from many rows on.
// Versions: 1, A packed: 0.97 to 1.03 of 14x2. 2, units of two rows on spread ahead: no gain within a product. 3, A where it lies: 512^3 1.07, 1024^3 1.04.
// 4, lines of C asked for in a loop of their own: 512^3 1.015, 300x700x900 1.03. 5, groups for MC 1024 rows (256, 512: 0.94, 0.97 at 1024^3, for B is
// packed beside the tiles again), never Goto's loops: 1024^3 1.03. KC 128, 192: 0.96, 0.98 at 1024^3; asking for the next rows of A 0.96.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx512intel_6x64)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S float
#define GEMM_COVE
#define GEMM_VEC 64
#define GEMM_MR 6
#define GEMM_EXACT 1
#define GEMM_NV 4
#define GEMM_LYING 1
#define GEMM_MC 1024
#define GEMM_KC 256
#define GEMM_NC 4096
#include "gemm_fma.h"
