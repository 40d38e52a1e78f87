// mma.sync: C[M,8] += A[M,K]·B[K,8] by a warp, all of whose lanes must call it. A lane's registers, with g = lane / 4, t = lane % 4:
//
//   m16n8k16 bf16, fp16   A: {(g, 2t..), (g+8, 2t..), (g, 2t+8..), (g+8, 2t+8..)} two elements each; B: {(2t.., g), (2t+8.., g)}
//   m16n8k8 tf32          A: {(g, t), (g+8, t), (g, t+4), (g+8, t+4)}; B: {(t, g), (t+4, g)}; the low 13 bits are ignored
//   m16n8k32 bytes        A: {(g, 4t..), (g+8, 4t..), (g, 4t+16..), (g+8, 4t+16..)} four elements each; B: {(4t.., g), (4t+16.., g)}
//   m8n8k4 fp64           A: (g, t); B: (t, g); the wrapper takes two of them, rows g and g + 8. From 9.0 on it is one m16n8k4 of the same registers:
//                         there the older one gives less (H100, 4096^3: 31 and 49 of 67 TFLOP/s, triton-lang/triton pull request 10313)
//
// and C: {(g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1)} of all. (PTX ISA, "Matrix fragments for mma".) Elements with the lower column
// or row of K are in the lower bits. Sums of floats are fp32 and cut off, not rounded, of bytes int32, which wrap.
#ifndef RIDGE_PTX_MMA_CUH
#define RIDGE_PTX_MMA_CUH

#include "ridge_cuda.cuh"

#if defined(RIDGE_MODEL)
#define RIDGE_MMA(KIND, PTX, SUM, C) ridge_model_mma(KIND, c, a, b, __FILE__, __LINE__)
#else
#define RIDGE_MMA(KIND, PTX, SUM, C)                                                                     \
  asm(PTX " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                             \
      : "+" C(c[0]), "+" C(c[1]), "+" C(c[2]), "+" C(c[3])                                               \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif

// A: registers of a lane for 16 rows, B: for 8 columns, of 32 bytes of K.
#define RIDGE_MMA_OF(NAME, KIND, PTX, SUM, C)                                                             \
  struct NAME {                                                                                           \
    typedef unsigned word;                                                                                \
    typedef SUM sum;                                                                                      \
    static constexpr int A = 4, B = 2;                                                                    \
    static __device__ __forceinline__ void mma(sum (&c)[4], const word (&a)[4], const word (&b)[2]) {     \
      RIDGE_MMA(KIND, PTX, SUM, C);                                                                       \
    }                                                                                                     \
  };
RIDGE_MMA_OF(MmaBf16, RIDGE_MMA_BF16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
RIDGE_MMA_OF(MmaFp16, RIDGE_MMA_FP16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", float, "f")
RIDGE_MMA_OF(MmaTf32, RIDGE_MMA_TF32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
RIDGE_MMA_OF(MmaBytes, RIDGE_MMA_S8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", int, "r")
RIDGE_MMA_OF(MmaUnsignedBytes, RIDGE_MMA_U8S8, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", int, "r")
#undef RIDGE_MMA_OF
#undef RIDGE_MMA

// C = A·B of tf32: the old C is not read.
__device__ __forceinline__ void mma_tf32_first(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(RIDGE_MODEL)
  for (int i = 0; i < 4; i++) c[i] = 0;
  MmaTf32::mma(c, a, b);
#else
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
      : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
#endif
}

// Two 16-bit elements as mma takes them, the lower column in the lower bits.
template <class T> struct Pair;
template <> struct Pair<ridge_bf16> {
  static __device__ __forceinline__ unsigned of(float low, float high) { // rounded to nearest even
#if defined(RIDGE_MODEL)
    return (unsigned)element<ridge_bf16>::store(high).bits << 16 | element<ridge_bf16>::store(low).bits;
#else
    unsigned w;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low));
    return w;
#endif
  }
  static __device__ __forceinline__ float low(unsigned w) { return __uint_as_float(w << 16); }
  static __device__ __forceinline__ float high(unsigned w) { return __uint_as_float(w & 0xffff0000u); }
};
template <> struct Pair<ridge_fp16> {
  static __device__ __forceinline__ unsigned of(float low, float high) { // rounded to nearest even
#if defined(RIDGE_MODEL)
    return (unsigned)element<ridge_fp16>::store(high).bits << 16 | element<ridge_fp16>::store(low).bits;
#else
    unsigned w;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low));
    return w;
#endif
  }
};

struct MmaFp64 {
  typedef double word, sum;
  static constexpr int A = 2, B = 1;
  static __device__ __forceinline__ void mma(sum (&c)[4], const word (&a)[2], const word (&b)[1]) {
#if !defined(RIDGE_MODEL) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#else
#pragma unroll
    for (int h = 0; h < 2; h++) {
#if defined(RIDGE_MODEL)
      ridge_model_mma(RIDGE_MMA_FP64, c + 2 * h, a + h, b, __FILE__, __LINE__);
#else
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[2 * h]), "+d"(c[2 * h + 1]) : "d"(a[h]), "d"(b[0]));
#endif
    }
#endif
  }
};

#endif
