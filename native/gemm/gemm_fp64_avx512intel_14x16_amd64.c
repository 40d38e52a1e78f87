// gemm_fp64_avx512intel_14x16: fp64 GEMM for Intel's cores with AVX-512 that lack AVX512-FP16 (plain AVX-512 runs it anywhere).
//
// To gemm_fp64_avx512_14x16 what gemm_fp32_avx512intel_14x32 is to the fp32 kernel. Ice Lake, one thread, against it: 64^3 1.25, 128^3 1.28, 33^3 1.22,
// 512^3 1.03, 16x4096x4096 1.42, 8x1024x1024 1.76. Many rows go by gemm_fp64_avx512intel_6x32.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp64_avx512intel_14x16)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S double
#define GEMM_DOUBLE
#define GEMM_NO_ACT
#define GEMM_COVE
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_THIN_MEMORY (15 << 20)
#define GEMM_NV 2
#define GEMM_MC 128
#define GEMM_KC 256
#define GEMM_NC 4096
#include "gemm_fma.h"
