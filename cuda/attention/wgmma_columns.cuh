// C[64,N] += A[64,16]·B[16,N] of bf16 by wgmma, A from registers and B across as in ptx_wgmma_registers.cuh, for 64 of more columns: c[FROM] and the 31 behind it, or N = 72,
// whose last 8 columns lie `leading` bytes behind the first ones: c[FROM] and the 35 behind it.
#ifndef RIDGE_WGMMA_COLUMNS_CUH
#define RIDGE_WGMMA_COLUMNS_CUH

#include "ptx_wgmma_registers.cuh"

#if defined(RIDGE_MODEL)
#define RIDGE_WGMMA_COLUMNS(N, A0, A1, A2, A3, B) ridge_model_wgmma_registers(RIDGE_WGMMA_BF16, N, c + FROM, a, b, 1, 1, __FILE__, __LINE__)
#else
#define RIDGE_COLUMNS_64(C) \
  C(c[FROM + 0]), C(c[FROM + 1]), C(c[FROM + 2]), C(c[FROM + 3]), C(c[FROM + 4]), C(c[FROM + 5]), C(c[FROM + 6]), C(c[FROM + 7]), \
  C(c[FROM + 8]), C(c[FROM + 9]), C(c[FROM + 10]), C(c[FROM + 11]), C(c[FROM + 12]), C(c[FROM + 13]), C(c[FROM + 14]), C(c[FROM + 15]), \
  C(c[FROM + 16]), C(c[FROM + 17]), C(c[FROM + 18]), C(c[FROM + 19]), C(c[FROM + 20]), C(c[FROM + 21]), C(c[FROM + 22]), C(c[FROM + 23]), \
  C(c[FROM + 24]), C(c[FROM + 25]), C(c[FROM + 26]), C(c[FROM + 27]), C(c[FROM + 28]), C(c[FROM + 29]), C(c[FROM + 30]), C(c[FROM + 31])
#define RIDGE_COLUMNS_72(C) \
  RIDGE_COLUMNS_64(C), C(c[FROM + 32]), C(c[FROM + 33]), C(c[FROM + 34]), C(c[FROM + 35])
#define RIDGE_COLUMN_REGISTERS_64 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31}"
#define RIDGE_COLUMN_REGISTERS_72 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, " \
  "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35}"
#define RIDGE_COLUMN(x) "+f"(x)
#define RIDGE_WGMMA_COLUMNS(N, A0, A1, A2, A3, B)                                                                        \
  asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, 1, 0;\n"                                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 " RIDGE_COLUMN_REGISTERS_##N                     \
               ", {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", keep, 1, 1, 1;\n}"                                  \
               : RIDGE_COLUMNS_##N(RIDGE_COLUMN)                                                                          \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#endif
template <int FROM, int COUNT> __device__ __forceinline__ void wgmma_columns_64(float (&c)[COUNT], unsigned (&a)[4], uint64_t b) {
  static_assert(FROM + 32 <= COUNT, "");
  RIDGE_WGMMA_COLUMNS(64, 32, 33, 34, 35, 36);
}
template <int FROM, int COUNT> __device__ __forceinline__ void wgmma_columns_72(float (&c)[COUNT], unsigned (&a)[4], uint64_t b) {
  static_assert(FROM + 36 <= COUNT, "");
  RIDGE_WGMMA_COLUMNS(72, 36, 37, 38, 39, 40);
}
#undef RIDGE_WGMMA_COLUMNS

#endif
