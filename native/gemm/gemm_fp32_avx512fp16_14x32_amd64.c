// gemm_fp32_avx512fp16_14x32: fp32 GEMM for cores with two multiply-adds, two loads and one store of 512 bits a cycle.
//
// The tile, the loops and the contract of gemm_fp32_avx512_14x32, with what Granite Rapids wants otherwise (GEMM_COVE). AVX512-FP16 is
// how such cores are told (Intel since Sapphire Rapids); nothing of it is used. Per k 28 multiply-adds (14 cycles) that
// take A from memory, and 2 loads: 30 instructions (with broadcasts 44; in the slow state of docs/kernels/gemm.md 1.02 to 1.07 times as fast, else 1.00 to 1.01:
// Emerald Rapids).
// Limit: a tile in L1 or L2 has 0.98 to 0.99 of the FMA probe in cycles, but the clock is 3 % lower under it than under the probe; packing writes
// to L2 at 17 bytes a cycle. A block of A 256 KiB, two groups of B 256 KiB in an L2 of 2 MiB.
// Against the kernel for Zen, one thread on Granite Rapids (docs/kernels/gemm.md): packing beside by vectors, not by general registers,
// 256^3 1.037, 512^3 1.033, 768^3 1.032, 8x4096x4096 1.30; MC 128 and KC 512 to 256 each 256^3 1.015, 512^3 1.012; where B comes
// packed beforehand 16x4096x4096 1.05, 512^3 0.986, 1024^3 0.989, kept the same there, for a packed operand changes no bit of a result (but where nothing is packed otherwise: gemm_small.h).
// Since: A where it lies beside packed panels (gemm_panels.h) and, up to 16 rows, beside rows of B pages apart (gemm_small.h): 31x48x1024 packed 1.5 to 1.9,
// 1360x2048x16 1.3 to 1.57, 7x2000x300 1.77; B turned by 16 x 16 (gemm_pack.h) 1.01 to 1.1.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx512fp16_14x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S float
#define GEMM_COVE
#define GEMM_FROM_MEMORY "%{1to16%}"
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 256
#define GEMM_KC 256
#define GEMM_NC 4096
#include "gemm_fma.h"
