// cp.async: copies to shared memory that pass by the registers and land later. A thread's copies since its last commit are a group;
// they are its own writes once it waited for the group: others see them behind a barrier that follows the wait.
#ifndef RIDGE_PTX_CP_ASYNC_CUH
#define RIDGE_PTX_CP_ASYNC_CUH

#include "ptx_ldmatrix.cuh"

// 16 bytes, both addresses multiples of 16; given (0 to 16) are read, the others are 0. Past the first-level cache.
__device__ __forceinline__ void copy_async(shared_at to, const void *from, int given) {
#if defined(RIDGE_MODEL)
  ridge_model_copy_async(to, from, 16, (unsigned)given);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(given) : "memory");
#endif
}

__device__ __forceinline__ void copy_commit() {
#if defined(RIDGE_MODEL)
  ridge_model_copy_commit();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Until at most PENDING of this thread's groups, the youngest, are on their way.
template <int PENDING> __device__ __forceinline__ void copy_wait() {
#if defined(RIDGE_MODEL)
  ridge_model_copy_wait(PENDING);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

#endif
