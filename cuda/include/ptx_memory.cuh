// Loads and stores of 16 bytes that the compiler neither drops nor repeats, and stores that do not stay in the caches.
#ifndef RIDGE_PTX_MEMORY_CUH
#define RIDGE_PTX_MEMORY_CUH

#include "ridge_cuda.cuh"

// FAR: past the first-level cache (ld.cg).
template <bool FAR> __device__ __forceinline__ pack<float> load_again(const pack<float> *p) {
#if defined(RIDGE_MODEL)
  return load_pack(p);
#else
  pack<float> v;
  if constexpr (FAR)
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3]) : "l"(p) : "memory");
  else
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.at[0]), "=f"(v.at[1]), "=f"(v.at[2]), "=f"(v.at[3]) : "l"(p) : "memory");
  return v;
#endif
}

// STREAMING: written once and not read again soon (st.cs).
template <bool STREAMING> __device__ __forceinline__ void store_again(pack<float> *p, const pack<float> &v) {
#if defined(RIDGE_MODEL)
  store_pack(p, v);
#else
  if constexpr (STREAMING)
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.at[0]), "f"(v.at[1]), "f"(v.at[2]), "f"(v.at[3]) : "memory");
  else
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.at[0]), "f"(v.at[1]), "f"(v.at[2]), "f"(v.at[3]) : "memory");
#endif
}

#endif
