// gemm_u8s8_avx512vnni_14x32: u8 x s8 GEMM with int32 sums with AVX512-VNNI.
//
// C[M,N] = A[M,K]*op(B) (+ D), row-major, any shape, pitch and alignment;
// C overlaps no input. Operations 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: vpdpbusd, 64 products each. B panel KC*32 = 32 KiB in L1.
// Source: Goto and van de Geijn 2008 for the blocking; Intel 64 and IA-32 SDM, Arm ARM for the instructions.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_u8s8_avx512vnni_14x32)
#define GEMM_TARGET GEMM_ON("avx512vnni,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_KIND GEMM_VNNI512
#define GEMM_A_SIGNED 0
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 256
#define GEMM_KC 1024
#define GEMM_NC 4096
#include "gemm_dot.h"
