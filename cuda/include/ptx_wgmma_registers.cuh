// wgmma (9.0) of bf16 as attention and convolutions of few channels take it, and of tf32 as 3×TF32 does: see ptx_wgmma.cuh, whose fences, groups and waits hold here too. Attention's weights come from
// registers, so that they never leave them; C lies in registers as there.
//
// A from registers: lane l of warp w has, with g = l / 4 and t = l % 4, A(16w + g, 2t..) in a[0], A(16w + g + 8, 2t..) in a[1], A(16w + g, 2t + 8..) in
// a[2] and A(16w + g + 8, 2t + 8..) in a[3], two elements each, the lower column in the lower bits: C of 16 columns, rounded. No thread touches
// a, or reads it, between wgmma_fence and the wgmma_wait for its group.
#ifndef RIDGE_PTX_WGMMA_REGISTERS_CUH
#define RIDGE_PTX_WGMMA_REGISTERS_CUH

#include "ptx_wgmma.cuh"

#if !defined(RIDGE_MODEL)
#define RIDGE_REGISTERS_40 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
  "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}"
#define RIDGE_SUMS_40(C) \
  C(c[0]), C(c[1]), C(c[2]), C(c[3]), C(c[4]), C(c[5]), C(c[6]), C(c[7]), \
  C(c[8]), C(c[9]), C(c[10]), C(c[11]), C(c[12]), C(c[13]), C(c[14]), C(c[15]), \
  C(c[16]), C(c[17]), C(c[18]), C(c[19]), C(c[20]), C(c[21]), C(c[22]), C(c[23]), \
  C(c[24]), C(c[25]), C(c[26]), C(c[27]), C(c[28]), C(c[29]), C(c[30]), C(c[31]), \
  C(c[32]), C(c[33]), C(c[34]), C(c[35]), C(c[36]), C(c[37]), C(c[38]), C(c[39])
#endif

// C[64,N] += A[64,16]·B[16,N], A from registers, B across ([k][64 columns]); N = 64, 128 or 256.
#if defined(RIDGE_MODEL)
#define RIDGE_WGMMA_REGISTERS(N, COUNT, A0, A1, A2, A3, B) ridge_model_wgmma_registers(RIDGE_WGMMA_BF16, N, c, a, b, 1, 1, __FILE__, __LINE__)
#else
#define RIDGE_FLOAT(x) "+f"(x)
#define RIDGE_NEW_FLOAT(x) "=f"(x)
#define RIDGE_WGMMA_REGISTERS(N, COUNT, A0, A1, A2, A3, B)                                                              \
  asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, 1, 0;\n"                                                        \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 " RIDGE_REGISTERS_##COUNT                      \
               ", {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", keep, 1, 1, 1;\n}"                                 \
               : RIDGE_SUMS_##COUNT(RIDGE_FLOAT)                                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#endif
__device__ __forceinline__ void wgmma_registers(float (&c)[32], unsigned (&a)[4], uint64_t b) { RIDGE_WGMMA_REGISTERS(64, 32, 32, 33, 34, 35, 36); }
__device__ __forceinline__ void wgmma_registers(float (&c)[64], unsigned (&a)[4], uint64_t b) { RIDGE_WGMMA_REGISTERS(128, 64, 64, 65, 66, 67, 68); }
__device__ __forceinline__ void wgmma_registers(float (&c)[128], unsigned (&a)[4], uint64_t b) {
  RIDGE_WGMMA_REGISTERS(256, 128, 128, 129, 130, 131, 132);
}
#undef RIDGE_WGMMA_REGISTERS

// C[64,128] = A[64,8]·B[8,128] of tf32 (FIRST) or with C added, A from registers, B along k: with g and t as above A(16w + g, t) in a[0], A(16w + g + 8, t) in a[1],
// A(16w + g, t + 4) in a[2] and A(16w + g + 8, t + 4) in a[3]; the low 13 bits are ignored.
template <bool FIRST> __device__ __forceinline__ void wgmma_registers_tf32(float (&c)[64], unsigned (&a)[4], uint64_t b) {
#if defined(RIDGE_MODEL)
  ridge_model_wgmma_registers(RIDGE_WGMMA_TF32, 128, c, a, b, 0, !FIRST, __FILE__, __LINE__);
#else
#define RIDGE_WGMMA_TF32_REGISTERS(KEEP, C)                                                                      \
  asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, " KEEP ", 0;\n"                                           \
               "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 " RIDGE_REGISTERS_64                         \
               ", {%64, %65, %66, %67}, %68, keep, 1, 1;\n}"                                                     \
               : RIDGE_SUMS_64(C)                                                                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
  if constexpr (FIRST)
    RIDGE_WGMMA_TF32_REGISTERS("0", RIDGE_NEW_FLOAT);
  else
    RIDGE_WGMMA_TF32_REGISTERS("1", RIDGE_FLOAT);
#undef RIDGE_WGMMA_TF32_REGISTERS
#endif
}

// C[64,N] = A[64,16]·B[16,N] (FIRST) or with C added, both from shared memory, along k; N = 64, 80 or 128.
#if defined(RIDGE_MODEL)
#define RIDGE_WGMMA_SHARED(N, COUNT, A, B) ridge_model_wgmma(RIDGE_WGMMA_BF16, N, c, a, b, 0, !FIRST, __FILE__, __LINE__)
#else
#define RIDGE_WGMMA_SHARED_OF(N, COUNT, A, B, KEEP, C)                                                                     \
  asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, " KEEP ", 0;\n"                                                    \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 " RIDGE_REGISTERS_##COUNT ", %" #A ", %" #B        \
               ", keep, 1, 1, 0, 0;\n}"                                                                                   \
               : RIDGE_SUMS_##COUNT(C)                                                                                    \
               : "l"(a), "l"(b))
#define RIDGE_WGMMA_SHARED(N, COUNT, A, B)                          \
  if constexpr (FIRST)                                              \
    RIDGE_WGMMA_SHARED_OF(N, COUNT, A, B, "0", RIDGE_NEW_FLOAT);    \
  else                                                              \
    RIDGE_WGMMA_SHARED_OF(N, COUNT, A, B, "1", RIDGE_FLOAT)
#endif
template <bool FIRST> __device__ __forceinline__ void wgmma_shared(float (&c)[32], uint64_t a, uint64_t b) { RIDGE_WGMMA_SHARED(64, 32, 32, 33); }
template <bool FIRST> __device__ __forceinline__ void wgmma_shared(float (&c)[40], uint64_t a, uint64_t b) { RIDGE_WGMMA_SHARED(80, 40, 40, 41); }
template <bool FIRST> __device__ __forceinline__ void wgmma_shared(float (&c)[64], uint64_t a, uint64_t b) { WgmmaBf16::mma<FIRST>(c, a, b); }
#undef RIDGE_WGMMA_SHARED
#undef RIDGE_WGMMA_SHARED_OF
#undef RIDGE_NEW_FLOAT
#undef RIDGE_FLOAT

// The compiler reads the sums behind a wgmma_wait that covered them, or has calculated these values here.
template <int COUNT> __device__ __forceinline__ void wgmma_settled(float (&c)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) wgmma_settle(c[i]);
}

#endif
