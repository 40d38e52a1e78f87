// gemm_bf16_avx512fp16_widened: bf16 GEMM with sums in fp32 for cores with two multiply-adds, two loads and one store of 512 bits a cycle.
//
// The contract and the loops of gemm_bf16_avx512_14x32, the tile of gemm_fp32_avx512fp16_14x32: A and B become fp32 while they are packed (a shift
// by 16 bits), the multiply-adds take A from memory (30 instructions a k for 44). AVX512-FP16 is how such cores are told; nothing of it is used.
// Limit: the fp32 FMA units, which do twice what vdpbf16ps does there (Emerald Rapids: probes of 168 and 83 GFLOP/s).
// Against gemm_bf16_avx512_14x32, one thread on Emerald Rapids (docs/kernels/gemm.md): 512^3 1.00, 1024^3 1.06, 2048^3 1.02, 300x700x900 1.11,
// 16x4096x4096 1.12. Few rows against weights stored [N,K] by even and odd elements (gemm_dots.h): 1 and 2 rows 1.36, 3 to 64 rows 1.12 to 1.23. Few columns by
// dot products (gemm_dots_tall.h): 300x1x2048 10.1, 32x5x4096 2.7. Rounded by masks, two vectors a store (gemm_half.h): 1000x300x8 1.24, 256^3 1.02. MC, KC and GEMM_WHOLE_KC as gemm_fp16_avx512fp16_widened.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_bf16_avx512fp16_widened)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_HALF GEMM_IS_BF16
#define GEMM_COVE
#define GEMM_FROM_MEMORY "%{1to16%}"
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 224
#define GEMM_KC 512
#define GEMM_WHOLE_KC 1024
#define GEMM_NC 4096
#include "gemm_fma.h"
