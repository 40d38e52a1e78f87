// gemm_int8_avxvnni_6x16: int8 (s8 x s8) GEMM with int32 sums with AVX-VNNI.
//
// C[M,N] = A[M,K]*op(B) (+ D), row-major, any shape, pitch and alignment;
// C overlaps no input. Operations 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: vpdpbusd, 32 products each. B panel KC*16 = 16 KiB in L1.
// vpdpbusd takes u8 x s8: A is packed as A + 128, accumulators start at -128 * column sum of B.
// Source: Goto and van de Geijn 2008 for the blocking; Intel 64 and IA-32 SDM, Arm ARM for the instructions.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_int8_avxvnni_6x16)
#define GEMM_TARGET GEMM_ON("avxvnni,avx2,fma,f16c")
#define GEMM_KIND GEMM_VNNI256
#define GEMM_A_SIGNED 1
#define GEMM_VEC 32
#define GEMM_MR 6
#define GEMM_NV 2
#define GEMM_MC 144
#define GEMM_KC 1024
#define GEMM_NC 4096
#include "gemm_dot.h"
