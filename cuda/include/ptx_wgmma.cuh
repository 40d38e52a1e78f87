// wgmma (9.0): C[64,N] = A[64,K]·B[K,N] + C by a warpgroup, four warps from a multiple of four on, all of whose lanes call it. K is 32 bytes:
// 16 of bf16 and fp16, 8 of tf32, 32 of bytes and e4m3. A and B lie in shared memory, swizzled by 128 bytes, in pieces of 8 rows of 128 bytes at
// multiples of 1024. Lane l of warp w has C(16w + l / 4 + 8h, 8j + 2·(l % 4) + e) in c[4j + 2h + e]. (PTX ISA, "Asynchronous warpgroup level
// matrix instructions".) Sums of floats are fp32, of bytes int32, which wrap; those of e4m3 keep 14 bits (goharness/op/cutoff.go has the source).
//
// It goes on while the threads do: between wgmma_fence and the wgmma_wait for its group no thread touches c, and nobody writes the operands.
#ifndef RIDGE_PTX_WGMMA_CUH
#define RIDGE_PTX_WGMMA_CUH

#include "ptx_ldmatrix.cuh"

// An operand of which rows along k (of A, or columns of B) begin at `at`: [row][128 bytes of k], 8 rows every `stride` bytes. One step of K is
// 32 bytes of the address, 2 of the descriptor.
// Across, of B with 16 bits: [k][64 columns], 64 columns every `leading` bytes, 8 of k every `stride`.
__device__ __forceinline__ uint64_t wgmma_operand(shared_at at, int leading, int stride) {
#if defined(RIDGE_MODEL)
  at = ridge_model_shared_offset(at);
#endif
  return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | (uint64_t)1 << 62;
}

// What was done to the sums' registers lies before the next wgmma.
__device__ __forceinline__ void wgmma_fence() {
#if defined(RIDGE_MODEL)
  ridge_model_wgmma_fence();
#else
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

// Those since the last one are a group.
__device__ __forceinline__ void wgmma_commit() {
#if defined(RIDGE_MODEL)
  ridge_model_wgmma_commit();
#else
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// Until at most PENDING groups, the youngest, go on: the operands of the others have been read.
template <int PENDING> __device__ __forceinline__ void wgmma_wait() {
#if defined(RIDGE_MODEL)
  ridge_model_wgmma_wait(PENDING, __FILE__, __LINE__);
#else
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#endif
}

// Until all are done; the compiler reads the sums behind it.
__device__ __forceinline__ void wgmma_settle(float &c) {
#if !defined(RIDGE_MODEL)
  asm volatile("" : "+f"(c)::"memory");
#endif
}
__device__ __forceinline__ void wgmma_settle(int &c) {
#if !defined(RIDGE_MODEL)
  asm volatile("" : "+r"(c)::"memory");
#endif
}
template <class SUM, int COUNT> __device__ __forceinline__ void wgmma_done(SUM (&c)[COUNT]) {
  wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < COUNT; i++) wgmma_settle(c[i]);
}

#if !defined(RIDGE_MODEL)
#define RIDGE_REGISTERS_32 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, " \
  "%28, %29, %30, %31}"
#define RIDGE_REGISTERS_64 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, " \
  "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, " \
  "%55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define RIDGE_REGISTERS_128 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, " \
  "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, " \
  "%55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
  "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, " \
  "%107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define RIDGE_SUMS_32(C) \
  C(c[0]), C(c[1]), C(c[2]), C(c[3]), C(c[4]), C(c[5]), C(c[6]), C(c[7]), \
  C(c[8]), C(c[9]), C(c[10]), C(c[11]), C(c[12]), C(c[13]), C(c[14]), C(c[15]), \
  C(c[16]), C(c[17]), C(c[18]), C(c[19]), C(c[20]), C(c[21]), C(c[22]), C(c[23]), \
  C(c[24]), C(c[25]), C(c[26]), C(c[27]), C(c[28]), C(c[29]), C(c[30]), C(c[31])
#define RIDGE_SUMS_64(C) \
  C(c[0]), C(c[1]), C(c[2]), C(c[3]), C(c[4]), C(c[5]), C(c[6]), C(c[7]), \
  C(c[8]), C(c[9]), C(c[10]), C(c[11]), C(c[12]), C(c[13]), C(c[14]), C(c[15]), \
  C(c[16]), C(c[17]), C(c[18]), C(c[19]), C(c[20]), C(c[21]), C(c[22]), C(c[23]), \
  C(c[24]), C(c[25]), C(c[26]), C(c[27]), C(c[28]), C(c[29]), C(c[30]), C(c[31]), \
  C(c[32]), C(c[33]), C(c[34]), C(c[35]), C(c[36]), C(c[37]), C(c[38]), C(c[39]), \
  C(c[40]), C(c[41]), C(c[42]), C(c[43]), C(c[44]), C(c[45]), C(c[46]), C(c[47]), \
  C(c[48]), C(c[49]), C(c[50]), C(c[51]), C(c[52]), C(c[53]), C(c[54]), C(c[55]), \
  C(c[56]), C(c[57]), C(c[58]), C(c[59]), C(c[60]), C(c[61]), C(c[62]), C(c[63])
#define RIDGE_SUMS_128(C) \
  C(c[0]), C(c[1]), C(c[2]), C(c[3]), C(c[4]), C(c[5]), C(c[6]), C(c[7]), \
  C(c[8]), C(c[9]), C(c[10]), C(c[11]), C(c[12]), C(c[13]), C(c[14]), C(c[15]), \
  C(c[16]), C(c[17]), C(c[18]), C(c[19]), C(c[20]), C(c[21]), C(c[22]), C(c[23]), \
  C(c[24]), C(c[25]), C(c[26]), C(c[27]), C(c[28]), C(c[29]), C(c[30]), C(c[31]), \
  C(c[32]), C(c[33]), C(c[34]), C(c[35]), C(c[36]), C(c[37]), C(c[38]), C(c[39]), \
  C(c[40]), C(c[41]), C(c[42]), C(c[43]), C(c[44]), C(c[45]), C(c[46]), C(c[47]), \
  C(c[48]), C(c[49]), C(c[50]), C(c[51]), C(c[52]), C(c[53]), C(c[54]), C(c[55]), \
  C(c[56]), C(c[57]), C(c[58]), C(c[59]), C(c[60]), C(c[61]), C(c[62]), C(c[63]), \
  C(c[64]), C(c[65]), C(c[66]), C(c[67]), C(c[68]), C(c[69]), C(c[70]), C(c[71]), \
  C(c[72]), C(c[73]), C(c[74]), C(c[75]), C(c[76]), C(c[77]), C(c[78]), C(c[79]), \
  C(c[80]), C(c[81]), C(c[82]), C(c[83]), C(c[84]), C(c[85]), C(c[86]), C(c[87]), \
  C(c[88]), C(c[89]), C(c[90]), C(c[91]), C(c[92]), C(c[93]), C(c[94]), C(c[95]), \
  C(c[96]), C(c[97]), C(c[98]), C(c[99]), C(c[100]), C(c[101]), C(c[102]), C(c[103]), \
  C(c[104]), C(c[105]), C(c[106]), C(c[107]), C(c[108]), C(c[109]), C(c[110]), C(c[111]), \
  C(c[112]), C(c[113]), C(c[114]), C(c[115]), C(c[116]), C(c[117]), C(c[118]), C(c[119]), \
  C(c[120]), C(c[121]), C(c[122]), C(c[123]), C(c[124]), C(c[125]), C(c[126]), C(c[127])
#endif

// FIRST: C = A·B, whose old value nobody reads (the registers need none). MORE: what PTX wants behind (signs; whether A and B lie across).
#if defined(RIDGE_MODEL)
#define RIDGE_WGMMA(KIND, N, COUNT, PTX, A, B, ACROSS, MORE, C) ridge_model_wgmma(KIND, N, c, a, b, ACROSS, !FIRST, __FILE__, __LINE__)
#else
#define RIDGE_WGMMA_ASM(COUNT, PTX, A, B, KEEP, MORE, C)                                            \
  asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, " KEEP ", 0;\n" PTX " " RIDGE_REGISTERS_##COUNT \
               ", %" A ", %" B ", keep" MORE ";\n}"                                                 \
               : RIDGE_SUMS_##COUNT(C)                                                              \
               : "l"(a), "l"(b))
#define RIDGE_WGMMA(KIND, N, COUNT, PTX, A, B, ACROSS, MORE, C)  \
  if constexpr (FIRST)                                           \
    RIDGE_WGMMA_ASM(COUNT, PTX, A, B, "0", MORE, "=" C);         \
  else                                                           \
    RIDGE_WGMMA_ASM(COUNT, PTX, A, B, "1", MORE, "+" C)
#endif

#define RIDGE_WGMMA_OF(NAME, KIND, SHAPE, TYPES, SUM, ACROSS, MORE, C)                                                    \
  struct NAME {                                                                                                          \
    typedef SUM sum;                                                                                                     \
    template <bool FIRST> static __device__ __forceinline__ void mma(sum (&c)[32], uint64_t a, uint64_t b) {             \
      RIDGE_WGMMA(KIND, 64, 32, "wgmma.mma_async.sync.aligned.m64n64" SHAPE TYPES, "32", "33", ACROSS, MORE, C);         \
    }                                                                                                                    \
    template <bool FIRST> static __device__ __forceinline__ void mma(sum (&c)[64], uint64_t a, uint64_t b) {             \
      RIDGE_WGMMA(KIND, 128, 64, "wgmma.mma_async.sync.aligned.m64n128" SHAPE TYPES, "64", "65", ACROSS, MORE, C);       \
    }                                                                                                                    \
    template <bool FIRST> static __device__ __forceinline__ void mma(sum (&c)[128], uint64_t a, uint64_t b) {            \
      RIDGE_WGMMA(KIND, 256, 128, "wgmma.mma_async.sync.aligned.m64n256" SHAPE TYPES, "128", "129", ACROSS, MORE, C);    \
    }                                                                                                                    \
  };
RIDGE_WGMMA_OF(WgmmaBf16, RIDGE_WGMMA_BF16, "k16", ".f32.bf16.bf16", float, 0, ", 1, 1, 0, 0", "f")
RIDGE_WGMMA_OF(WgmmaBf16Across, RIDGE_WGMMA_BF16, "k16", ".f32.bf16.bf16", float, 1, ", 1, 1, 0, 1", "f")
RIDGE_WGMMA_OF(WgmmaFp16, RIDGE_WGMMA_FP16, "k16", ".f32.f16.f16", float, 0, ", 1, 1, 0, 0", "f")
RIDGE_WGMMA_OF(WgmmaFp16Across, RIDGE_WGMMA_FP16, "k16", ".f32.f16.f16", float, 1, ", 1, 1, 0, 1", "f")
RIDGE_WGMMA_OF(WgmmaTf32, RIDGE_WGMMA_TF32, "k8", ".f32.tf32.tf32", float, 0, ", 1, 1", "f")
RIDGE_WGMMA_OF(WgmmaE4m3, RIDGE_WGMMA_E4M3, "k32", ".f32.e4m3.e4m3", float, 0, ", 1, 1", "f")
RIDGE_WGMMA_OF(WgmmaBytes, RIDGE_WGMMA_S8, "k32", ".s32.s8.s8", int, 0, "", "r")
RIDGE_WGMMA_OF(WgmmaUnsignedBytes, RIDGE_WGMMA_U8S8, "k32", ".s32.u8.s8", int, 0, "", "r")
#undef RIDGE_WGMMA_OF
#undef RIDGE_WGMMA

#endif
