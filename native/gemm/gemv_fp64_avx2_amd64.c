// gemv_fp64_avx2: y[m] = A[m,n] * x[n] with AVX2; bound as the GEMM row C[1,N] = A[1,K] * B[N,K]^T.
//
// Any shape, pitch and alignment. FLOP 2mn; bytes: A and x once, y once. Limit: the memory
// level that A sits in; per 32-byte load of A one FMA, four sums in flight. Threads share
// the rows of A; x stays in the cache.
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemv_fp64_avx2)
#define GEMM_TARGET GEMM_ON("avx2,fma,f16c")
#define GEMM_S double
#define GEMM_DOUBLE
#define GEMM_NO_ACT
#define GEMM_VEC 32
#define GEMM_NV 4
#include "gemv.h"
