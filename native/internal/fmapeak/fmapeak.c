// Register-only multiply-adds: the ceiling that GEMM benchmarks are read against.
#include "fmapeak.h"

// Ten independent accumulators cover latency 4 on two units with room for latency 5.
#define CHAINS10(op, a, b) \
  op(0, a, b) op(1, a, b) op(2, a, b) op(3, a, b) op(4, a, b) op(5, a, b) op(6, a, b) op(7, a, b) op(8, a, b) op(9, a, b)

#if defined(__x86_64__)
#define ZERO(n, a, b) "vxorps %%ymm" #n ", %%ymm" #n ", %%ymm" #n "\n"
#define FMA_PS(n, a, b) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #n "\n"
#define FMA_PD(n, a, b) "vfmadd231pd %%ymm14, %%ymm15, %%ymm" #n "\n"
#define LOOP(FMA)                                                                          \
  __asm__ volatile("vxorps %%ymm14, %%ymm14, %%ymm14\nvxorps %%ymm15, %%ymm15, %%ymm15\n"  \
                   CHAINS10(ZERO, , ) "1:\n" CHAINS10(FMA, , ) "dec %0\njnz 1b\nvzeroupper" \
                   : "+r"(n)::"cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",  \
                     "xmm9", "xmm14", "xmm15")
enum { LANES32 = 8 };
#else
#define ZERO(n, a, b) "movi v" #n ".4s, #0\n"
#define FMA_PS(n, a, b) "fmla v" #n ".4s, v14.4s, v15.4s\n"
#define FMA_PD(n, a, b) "fmla v" #n ".2d, v14.2d, v15.2d\n"
#define LOOP(FMA)                                                                       \
  __asm__ volatile("movi v14.4s, #0\nmovi v15.4s, #0\n" CHAINS10(ZERO, , ) "1:\n" CHAINS10(FMA, , ) \
                   "subs %0, %0, #1\nb.ne 1b"                                           \
                   : "+r"(n)::"cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v14", "v15")
enum { LANES32 = 4 };
#endif

int ridge_fmapeak_fp32(const void *args, const ridge_ctx *ctx) {
  (void)ctx;
  int64_t n = *(const int64_t *)args;
  LOOP(FMA_PS);
  return RIDGE_OK;
}

int ridge_fmapeak_fp64(const void *args, const ridge_ctx *ctx) {
  (void)ctx;
  int64_t n = *(const int64_t *)args;
  LOOP(FMA_PD);
  return RIDGE_OK;
}

int64_t ridge_fmapeak_flops(int bytes) { return 10 * 2 * LANES32 * 4 / bytes; }
