// gemm_int8_avx2_6x16: int8 (s8 x s8) GEMM with int32 sums with AVX2.
//
// C[M,N] = A[M,K]*op(B) (+ D), row-major, any shape, pitch and alignment;
// C overlaps no input. Operations 2MNK; bytes: A, B and C once plus the packed copies.
// vpmaddubsw would saturate its 16-bit sums; 8-bit values widened to int16 while packing and
// vpmaddwd are exact. Limit: vpmaddwd, two per cycle, 16 products each (twice the fp32 FMA
// rate); each needs a vpaddd besides. B panel KC*16*2 = 16 KiB in L1.
// Source: Goto and van de Geijn 2008 for the blocking; Intel 64 and IA-32 SDM, Arm ARM for the instructions.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_int8_avx2_6x16)
#define GEMM_TARGET GEMM_ON("avx2,fma,f16c")
#define GEMM_KIND GEMM_MADD256
#define GEMM_A_SIGNED 1
#define GEMM_VEC 32
#define GEMM_MR 6
#define GEMM_NV 2
#define GEMM_MC 144
#define GEMM_KC 512
#define GEMM_NC 4096
#include "gemm_dot.h"
