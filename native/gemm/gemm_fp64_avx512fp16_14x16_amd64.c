// gemm_fp64_avx512fp16_14x16: fp64 GEMM for cores with two multiply-adds, two loads and one store of 512 bits a cycle.
//
// To gemm_fp64_avx512_14x16 what gemm_fp32_avx512fp16_14x32 is to the fp32 kernel: packing beside by vectors, higher tiles and masked stores for small
// products, Goto's loops from fewer rows. Granite Rapids, one thread: 256^3 1.03, 512^3 1.034 times as fast; MC 256 has 0.97 of the rate of 128
// where B comes packed beforehand (512^3). A from memory in the multiply-adds: Emerald Rapids 1.02 to 1.04 (docs/kernels/gemm.md).
// Since: A where it lies beside packed panels (gemm_panels.h) and, up to 16 rows, beside rows of B pages apart (gemm_small.h): 90x64x1000 packed 1.3,
// 2000x667x16 1.7, 6x1024x300 1.88.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp64_avx512fp16_14x16)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S double
#define GEMM_DOUBLE
#define GEMM_NO_ACT
#define GEMM_COVE
#define GEMM_FROM_MEMORY "%{1to8%}"
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 128
#define GEMM_KC 256
#define GEMM_NC 4096
#include "gemm_fma.h"
