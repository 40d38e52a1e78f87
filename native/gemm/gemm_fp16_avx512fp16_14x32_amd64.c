// gemm_fp16_avx512fp16_14x32: fp16 GEMM with AVX512-FP16, short sums kept in fp16.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape (M > 3 where B is not packed), pitch and alignment;
// C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Accumulation: at most GEMM_CHAIN products in fp16 (a sum beyond 65504 becomes infinite, steps below 2^-24 are lost), those sums in fp32.
// So it is for cases that allow that (acc=fp16) alone, also where it is asked for by name.
// Limit: two multiply-adds of 32 fp16 numbers a cycle, twice the fp32 rate; a chain's end is counted in gemm_chain.h. A block of A 512 KiB, a group of B 256 KiB in
// an L2 of 2 MiB. Emerald Rapids, one thread alone, of the probe: 512^3 0.90, 1024^3 0.89 to 0.91, B packed beforehand 0.92 to 0.96.
// Versions: 1, a chain's sums added up a vector a unit in the next chain, chains of 128 (64: 0.95 to 0.99). 2, MC 256 for 140. 3, B by two unpackings,
// beside the multiply-adds. What each gained, and how surely: docs/kernels/gemm.md, Emerald Rapids.
// Source: Goto and van de Geijn 2008 for the blocking; Intel 64 and IA-32 SDM for the instructions; Higham, Accuracy and
// Stability of Numerical Algorithms, 2nd ed., 4.2-4.3 for sums in blocks.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp16_avx512fp16_14x32)
#define GEMM_TARGET GEMM_ON("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")
#define GEMM_KIND GEMM_FP512
#define GEMM_CHAIN 128
#define GEMM_COVE
#define GEMM_VEC 64
#define GEMM_MR 14
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 256
#define GEMM_KC 1024
#define GEMM_NC 4096
#include "gemm_dot.h"
