// Loads and stores of 16 bytes: that the compiler neither drops nor repeats, that do not stay in the caches, that are read once.
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

// What no thread of the multiprocessor reads again: the line is not kept in its first-level cache. N elements of 16 bytes together, else an ordinary load.
template <class T, int N> __device__ __forceinline__ Run<T, N> load_once(const Run<T, N> *p) {
#if defined(RIDGE_MODEL)
  ridge_model_aligned(p, sizeof *p);
  return *p;
#else
  if constexpr (sizeof(Run<T, N>) == 16) {
    union {
      unsigned word[4];
      Run<T, N> run;
    } v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(p) : "memory");
    return v.run;
  } else {
    return *p;
  }
#endif
}

// What is not read again soon (st.cs), 16 bytes together.
template <class T, int N> __device__ __forceinline__ void store_once(Run<T, N> *p, const Run<T, N> &v) {
  static_assert(sizeof(Run<T, N>) == 16, "16 bytes");
#if defined(RIDGE_MODEL)
  ridge_model_aligned(p, 16);
  *p = v;
#else
  union {
    Run<T, N> run;
    unsigned word[4];
  } u = {v};
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(u.word[0]), "r"(u.word[1]), "r"(u.word[2]), "r"(u.word[3]) : "memory");
#endif
}

#endif
