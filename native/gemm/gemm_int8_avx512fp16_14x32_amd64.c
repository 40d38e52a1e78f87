// gemm_int8_avx512fp16_14x32: int8 (s8 x s8) GEMM with int32 sums for cores with two dot products, two loads and one store of 512 bits a cycle.
//
// The tile, the loops and the contract of gemm_int8_avx512vnni_14x32, with what Intel's wide cores want otherwise (GEMM_COVE): packing beside the products by vectors,
// Goto's loops from fewer rows on, and A from memory in the products: 30 instructions a unit of K.
// AVX512-FP16 is how such cores are told; nothing of it is used.
// Limit: vpdpbusd, 64 products each. Against the kernel for Zen, one thread on Emerald Rapids (docs/kernels/gemm.md): 512^3 1.00 to 1.02, 1024^3 1.04, 2048^3 1.12 to 1.15, packed beforehand 512^3 1.01, 2048^3 1.04.
// Narrow and short products read A where it lies (gemm_dot_narrow.h): random ones 2.4 times as fast, geometric mean; since then no store under a mask where a row ends within a vector: 2048x41x32 1.44.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_int8_avx512fp16_14x32)
#define GEMM_TARGET GEMM_ON("avx512vnni,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_KIND GEMM_VNNI512
#define GEMM_A_SIGNED 1
#define GEMM_COVE
#define GEMM_FROM_MEMORY "%{1to16%}"
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 256
#define GEMM_KC 1024
#define GEMM_NC 4096
#include "gemm_dot.h"
