// gemm_fp64_avx512intel_6x32: fp64 GEMM of many rows for Intel's cores with AVX-512 (plain AVX-512 runs it anywhere).
//
// To gemm_fp64_avx512intel_14x16 what gemm_fp32_avx512intel_6x64 is to the fp32 kernel: tiles of 6 rows by 4 vectors, 24 multiply-adds with 10 loads, that read
// A where it lies. Panels of B 32 x KC, 64 KiB. No activation.
// Ice Lake, one thread, against 14x16 (MC 512): 512^3 1.18, packed beforehand 1.09, 300x700x900 1.20, 1.06, 1000x200x500 1.14, 1.12; KC 128 1.09, 1.02, 1.14, 1.01, 1.07, 1.06.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp64_avx512intel_6x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_S double
#define GEMM_DOUBLE
#define GEMM_NO_ACT
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
