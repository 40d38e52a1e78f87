// Reads of shared memory by a whole warp that take no more wavefronts than they must (the model reports a bank conflict), and stores to an
// address in it.
#ifndef RIDGE_PTX_LDMATRIX_CUH
#define RIDGE_PTX_LDMATRIX_CUH

#include "ridge_cuda.cuh"

// An address in shared memory, in bytes.
#if defined(RIDGE_MODEL)
typedef uintptr_t shared_at;
static inline shared_at shared_address(const void *p) { return (shared_at)p; }
#else
typedef unsigned shared_at;
__device__ __forceinline__ shared_at shared_address(const void *p) { return (shared_at)__cvta_generic_to_shared(p); }
#endif

// Four matrices of 8 rows of 16 bytes; lane i gives row i % 8 of matrix i / 8. out[m] of lane i is bytes 4·(i % 4).. of row i / 4 of
// matrix m. 4 wavefronts.
__device__ __forceinline__ void ldmatrix(unsigned (&out)[4], shared_at row) {
#if defined(RIDGE_MODEL)
  ridge_model_ldmatrix(out, 4, false, row, __FILE__, __LINE__);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row)
               : "memory");
#endif
}

// The same, transposed as matrices of 8 × 8 pairs of bytes: out[m] of lane i is pair i / 4 of rows 2·(i % 4) and 2·(i % 4) + 1.
__device__ __forceinline__ void ldmatrix_transposed(unsigned (&out)[4], shared_at row) {
#if defined(RIDGE_MODEL)
  ridge_model_ldmatrix(out, 4, true, row, __FILE__, __LINE__);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row)
               : "memory");
#endif
}

// A word of each lane: 1 wavefront of 4 bytes, 2 of 8, 4 of 16.
__device__ __forceinline__ void load_shared(unsigned &out, shared_at from) {
#if defined(RIDGE_MODEL)
  ridge_model_banks(from, sizeof out, __FILE__, __LINE__);
  out = *(const unsigned *)from;
#else
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(out) : "r"(from) : "memory");
#endif
}
__device__ __forceinline__ void load_shared(double &out, shared_at from) {
#if defined(RIDGE_MODEL)
  ridge_model_banks(from, sizeof out, __FILE__, __LINE__);
  out = *(const double *)from;
#else
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(out) : "r"(from) : "memory");
#endif
}
__device__ __forceinline__ void load_shared(unsigned (&out)[4], shared_at from) {
#if defined(RIDGE_MODEL)
  ridge_model_banks(from, sizeof out, __FILE__, __LINE__);
  ridge_model_aligned((const void *)from, sizeof out);
  for (int i = 0; i < 4; i++) out[i] = ((const unsigned *)from)[i];
#else
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(from) : "memory");
#endif
}

__device__ __forceinline__ void store_shared(shared_at to, unsigned word) {
#if defined(RIDGE_MODEL)
  ridge_model_banks(to, 4, __FILE__, __LINE__);
  *(unsigned *)to = word;
#else
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
#endif
}
__device__ __forceinline__ void store_shared(shared_at to, unsigned first, unsigned second) {
#if defined(RIDGE_MODEL)
  ridge_model_banks(to, 8, __FILE__, __LINE__);
  ridge_model_aligned((const void *)to, 8);
  ((unsigned *)to)[0] = first, ((unsigned *)to)[1] = second;
#else
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(first), "r"(second) : "memory");
#endif
}

// 16 bytes of each lane, to a multiple of 16.
__device__ __forceinline__ void store_shared(shared_at to, const unsigned (&words)[4]) {
#if defined(RIDGE_MODEL)
  store_pack((pack<unsigned> *)to, pack<unsigned>{{words[0], words[1], words[2], words[3]}});
#else
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
#endif
}

#endif
