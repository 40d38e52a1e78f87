// What every kernel source includes. The same source compiles for the device (nvcc) and, with
// RIDGE_MODEL, as C++ against the CPU execution model (cuda/model), so it uses these words:
//
//   RIDGE_KERNEL(name, threads)(parameters) { … }   an entry of at most threads threads a block;
//                                                   parameters are 8 bytes each: pointers, int64_t, double; or
//                                                   RIDGE_TENSOR_MAP (ptx_tma.cuh)
//   RIDGE_KERNEL_ALONE(name, threads)(…)            … of which a multiprocessor has one block at a time
//   RIDGE_ENTRY(name)                               after it: makes the entry known to the model
//   RIDGE_SHARED(type, name, dims)                  a shared array, e.g. RIDGE_SHARED(float, tile, [32][33])
//   RIDGE_DYNAMIC_SHARED(type, name)                the launch's dynamic shared memory
//
// A kernel uses no memcpy and no function-local static: the model would not see their accesses.
#ifndef RIDGE_CUDA_CUH
#define RIDGE_CUDA_CUH

#include <math.h>
#include <stdint.h>

#if defined(RIDGE_MODEL)
#include "model.h"
#else
#define RIDGE_KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name
#define RIDGE_KERNEL_ALONE(name, threads) extern "C" __global__ void __launch_bounds__(threads, 1) name
#define RIDGE_ENTRY(name)
#define RIDGE_SHARED(type, name, dims) __shared__ __align__(16) type name dims
#define RIDGE_DYNAMIC_SHARED(type, name)                            \
  extern __shared__ __align__(128) unsigned char ridge_dynamic[]; \
  type *name = reinterpret_cast<type *>(ridge_dynamic)
#endif

// Storage of the 16-bit formats; arithmetic is in float.
struct ridge_bf16 {
  unsigned short bits;
};
struct ridge_fp16 {
  unsigned short bits;
};

// load widens, store<T> rounds to nearest even.
__device__ __forceinline__ float load(float x) { return x; }
__device__ __forceinline__ double load(double x) { return x; }
__device__ __forceinline__ float load(ridge_bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
__device__ __forceinline__ int32_t load(int32_t x) { return x; }
__device__ __forceinline__ float load(ridge_fp16 x) {
#if defined(RIDGE_MODEL)
  const unsigned sign = (x.bits & 0x8000u) << 16, magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  const float f = __uint_as_float(magnitude << 13) * 0x1p112f; // exact, denormals too
  return __uint_as_float(sign | __float_as_uint(f));
#else
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
  return f;
#endif
}

template <class T> struct element;
template <> struct element<float> {
  typedef float wide;
  static __device__ __forceinline__ float store(float x) { return x; }
};
template <> struct element<double> {
  typedef double wide;
  static __device__ __forceinline__ double store(double x) { return x; }
};
template <> struct element<int32_t> {
  typedef int32_t wide;
  static __device__ __forceinline__ int32_t store(int32_t x) { return x; }
};
template <> struct element<ridge_fp16> {
  typedef float wide;
  // Denormals are kept, overflow gives infinity.
  static __device__ __forceinline__ ridge_fp16 store(float x) {
    ridge_fp16 r;
#if defined(RIDGE_MODEL)
    uint32_t u = __float_as_uint(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) {
      r.bits = (unsigned short)(sign | 0x7e00);
    } else if (a >= 0x477ff000u) {
      r.bits = (unsigned short)(sign | 0x7c00);
    } else if (a < 0x38800000u) {
      r.bits = (unsigned short)(sign | (__float_as_uint(__uint_as_float(a) + 0.5f) - 0x3f000000u));
    } else {
      a += 0xfff + (a >> 13 & 1);
      r.bits = (unsigned short)(sign | ((a - 0x38000000u) >> 13));
    }
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
#endif
    return r;
  }
};
template <> struct element<ridge_bf16> {
  typedef float wide;
  static __device__ __forceinline__ ridge_bf16 store(float x) {
    ridge_bf16 r;
#if defined(RIDGE_MODEL)
    unsigned u = __float_as_uint(x);
    r.bits = (u & 0x7fffffffu) > 0x7f800000u ? (unsigned short)(u >> 16 | 0x40) : (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
#else
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
#endif
    return r;
  }
};

// Sixteen bytes of elements, moved by one instruction.
template <class T> struct alignas(16) pack {
  T at[16 / sizeof(T)];
};

// Neighbours of a row, moved by one instruction.
template <class T, int N> struct alignas(N * sizeof(T)) Run {
  T at[N];
};

template <class T> __device__ __forceinline__ pack<T> load_pack(const pack<T> *p) {
#if defined(RIDGE_MODEL)
  ridge_model_aligned(p, 16);
#endif
  return *p;
}
template <class T> __device__ __forceinline__ void store_pack(pack<T> *p, const pack<T> &v) {
#if defined(RIDGE_MODEL)
  ridge_model_aligned(p, 16);
#endif
  *p = v;
}

// Cycles of this multiprocessor, and nanoseconds of the device's global timer.
#if defined(RIDGE_MODEL)
static inline uint64_t ridge_clock() { return ridge_model_clock(); }
static inline uint64_t ridge_timer() { return ridge_model_timer(); }
#else
__device__ __forceinline__ uint64_t ridge_clock() {
  uint64_t c;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(c)::"memory");
  return c;
}
__device__ __forceinline__ uint64_t ridge_timer() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}
#endif

__device__ __forceinline__ int64_t global_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int64_t all_threads() { return (int64_t)gridDim.x * blockDim.x; }

#endif
