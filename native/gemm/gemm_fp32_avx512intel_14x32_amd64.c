// gemm_fp32_avx512intel_14x32: fp32 GEMM for Intel's cores with AVX-512 that lack AVX512-FP16 (plain AVX-512 runs it anywhere).
//
// The contract and tile of gemm_fp32_avx512_14x32 with the loops of gemm_fp32_avx512fp16_14x32 (GEMM_COVE): packing beside by vectors, small products by
// higher tiles and masked stores. Units of A are spread once for two multiply-adds (16 loads a k): taken from memory by each, as there, they are 30 loads, and Ice Lake,
// which loads 1.13 vectors of 512 bits a cycle, has 0.48 of the FMA probe with them.
// Ice Lake, one thread, against gemm_fp32_avx512_14x32: 64^3 1.20, 128^3 1.24, 256^3 1.28, 512^3 1.05 to 1.08, 16x4096x4096 1.56, 8x1024x1024 1.72.
// Many rows go by gemm_fp32_avx512intel_6x64.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx512intel_14x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S float
#define GEMM_COVE
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_THIN_MEMORY (15 << 20)
#define GEMM_NV 2
#define GEMM_MC 256
#define GEMM_KC 256
#define GEMM_NC 4096
#include "gemm_fma.h"
