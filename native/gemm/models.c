// The variants whose instruction set may be missing, compiled again as portable models (see
// variant.h). They prove the variants' packing, tails and blocking on any machine; they are
// slow and run only when forced by name.
#define GEMM_MODEL 1
#include "gemm_fp32_avx512_14x32_amd64.c"
#include "gemm_fp64_avx512_14x16_amd64.c"
#include "gemm_bf16_avx512_14x32_amd64.c"
#include "gemm_fp16_avx512_14x32_amd64.c"
