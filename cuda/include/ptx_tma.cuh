// TMA (9.0): one thread orders a tile of a tensor from global to shared memory, or back. A kernel takes tensor maps as parameters:
// RIDGE_TENSOR_MAP(name).
#ifndef RIDGE_PTX_TMA_CUH
#define RIDGE_PTX_TMA_CUH

#include "ptx_mbarrier.cuh"

struct alignas(64) ridge_tensor_map {
  char opaque[128];
};
#if defined(RIDGE_MODEL)
#define RIDGE_TENSOR_MAP(name) const ridge_tensor_map name
#else
#define RIDGE_TENSOR_MAP(name) const __grid_constant__ ridge_tensor_map name
#endif

// The tile of a 3-dimensional tensor from element (x, y, z) on, x the fastest; zeros outside the tensor. All bytes of the tile, zeros too,
// count for the mbarrier's phase. to is a multiple of 1024 where the map swizzles by 128 bytes.
__device__ __forceinline__ void tma_load(shared_at to, const ridge_tensor_map &map, shared_at bar, int x, int y, int z) {
#if defined(RIDGE_MODEL)
  const int at[3] = {x, y, z};
  ridge_model_tma_load(to, &map, bar, at, 3);
#else
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
               "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z)
               : "memory");
#endif
}

// What the second-level cache does with lines that this policy is given for: `keep` them longest, or give them up first.
__device__ __forceinline__ uint64_t cache_policy(bool keep) {
  uint64_t policy = keep;
#if !defined(RIDGE_MODEL)
  if (keep)
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  else
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}

// tma_load with a policy.
__device__ __forceinline__ void tma_load_by(uint64_t policy, shared_at to, const ridge_tensor_map &map, shared_at bar, int x, int y, int z) {
#if defined(RIDGE_MODEL)
  tma_load(to, map, bar, x, y, z);
#else
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
               "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z), "l"(policy)
               : "memory");
#endif
}

// The same of a 4-dimensional tensor.
__device__ __forceinline__ void tma_load(shared_at to, const ridge_tensor_map &map, shared_at bar, int x, int y, int z, int w) {
#if defined(RIDGE_MODEL)
  const int at[4] = {x, y, z, w};
  ridge_model_tma_load(to, &map, bar, at, 4);
#else
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
               "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
#endif
}

// The other way: a tile of shared memory to the tensor's elements from (x, y, z) on; what lies outside the tensor is not stored. `from` and swizzles as for tma_load. What
// threads wrote there is seen behind their proxy_fence. Global memory has it at the kernel's end.
__device__ __forceinline__ void tma_store(const ridge_tensor_map &map, shared_at from, int x, int y, int z) {
#if defined(RIDGE_MODEL)
  const int at[3] = {x, y, z};
  ridge_model_tma_store(&map, from, at, 3);
#else
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z) : "memory");
#endif
}
// The same of a 4-dimensional tensor.
__device__ __forceinline__ void tma_store(const ridge_tensor_map &map, shared_at from, int x, int y, int z, int w) {
#if defined(RIDGE_MODEL)
  const int at[4] = {x, y, z, w};
  ridge_model_tma_store(&map, from, at, 4);
#else
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
#endif
}
// Ends a group of this thread's stores.
__device__ __forceinline__ void tma_store_commit() {
#if defined(RIDGE_MODEL)
  ridge_model_tma_store_commit();
#else
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
// Waits until all groups of this thread but the last PENDING have read shared memory, which may be written then, or end with the block.
template <int PENDING> __device__ __forceinline__ void tma_store_read() {
#if defined(RIDGE_MODEL)
  ridge_model_tma_store_wait_read(PENDING);
#else
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
#endif
}

// Brings the map itself nearer.
__device__ __forceinline__ void tma_prefetch(const ridge_tensor_map &map) {
#if !defined(RIDGE_MODEL)
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

#endif
