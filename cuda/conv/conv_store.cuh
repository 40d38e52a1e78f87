// How tiles of y leave by TMA, and words of a residual's tile are read.
#ifndef RIDGE_CONV_STORE_CUH
#define RIDGE_CONV_STORE_CUH

#include "ptx_tma.cuh"

// The stores of a thread, each a group of its own. A tile must lie there for tensor cores and copies (proxy_fence) and stay until a wait says that it has been read, also at the kernel's
// end.
struct TmaStores {
  // A tile from a multiple of 1024 bytes on to element (x, y, z), or (x, y, z, w), of a tensor.
  __device__ __forceinline__ void store(const ridge_tensor_map &map, shared_at from, int x, int y, int z) {
    tma_store(map, from, x, y, z);
    tma_store_commit();
  }
  __device__ __forceinline__ void store(const ridge_tensor_map &map, shared_at from, int x, int y, int z, int w) {
    tma_store(map, from, x, y, z, w);
    tma_store_commit();
  }
  // Until at most PENDING groups, the youngest, have not been read.
  template <int PENDING> __device__ __forceinline__ void wait() { tma_store_read<PENDING>(); }
};

// 8 bytes of each lane.
__device__ __forceinline__ void load_shared(unsigned &first, unsigned &second, shared_at from) {
#if defined(RIDGE_MODEL)
  ridge_model_banks(from, 8, __FILE__, __LINE__);
  ridge_model_aligned((const void *)from, 8);
  first = ((const unsigned *)from)[0], second = ((const unsigned *)from)[1];
#else
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(from) : "memory");
#endif
}

#endif
