// mbarrier (9.0): a counter in shared memory of arrivals and of bytes that copies bring, in phases. A phase completes when all arrivals of
// its count have come and no expected byte is missing; phases are told apart by their parity, the first has 0.
#ifndef RIDGE_PTX_MBARRIER_CUH
#define RIDGE_PTX_MBARRIER_CUH

#include "ptx_ldmatrix.cuh"

// 8 bytes at a multiple of 8, by one thread.
__device__ __forceinline__ void mbarrier_init(shared_at bar, unsigned arrivals) {
#if defined(RIDGE_MODEL)
  ridge_model_mbarrier_init(bar, arrivals);
#else
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
#endif
}

// Makes this thread's initialisations known to copies. A barrier of the block must follow before others use them.
__device__ __forceinline__ void mbarrier_init_fence() {
#if defined(RIDGE_MODEL)
  ridge_model_mbarrier_fence();
#else
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void mbarrier_arrive(shared_at bar) {
#if defined(RIDGE_MODEL)
  ridge_model_mbarrier_arrive(bar);
#else
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
#endif
}

// Arrives, and the phase waits for so many bytes more.
__device__ __forceinline__ void mbarrier_expect(shared_at bar, unsigned bytes) {
#if defined(RIDGE_MODEL)
  ridge_model_mbarrier_expect(bar, bytes);
#else
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
#endif
}

// Until the phase of this parity is complete: at once when it is the one before the phase that runs (parity 1 of a fresh one).
__device__ __forceinline__ void mbarrier_wait(shared_at bar, unsigned parity) {
#if defined(RIDGE_MODEL)
  ridge_model_mbarrier_wait(bar, parity, __FILE__, __LINE__);
#else
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
      "@complete bra done;\n"
      "bra again;\n"
      "done:\n"
      "}" ::"r"(bar),
      "r"(parity)
      : "memory");
#endif
}

// What this thread wrote to shared memory is seen by tensor cores and copies that are ordered behind it.
__device__ __forceinline__ void proxy_fence() {
#if defined(RIDGE_MODEL)
  ridge_model_proxy_fence();
#else
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// A barrier of so many threads of the block, whole warps; 0 is __syncthreads'.
__device__ __forceinline__ void named_barrier(unsigned id, unsigned threads) {
#if defined(RIDGE_MODEL)
  ridge_model_named_barrier(id, threads, __FILE__, __LINE__);
#else
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

// Arrives at it without waiting: what was done before lies before what those do who wait at it.
__device__ __forceinline__ void named_barrier_arrive(unsigned id, unsigned threads) {
#if defined(RIDGE_MODEL)
  ridge_model_named_barrier_arrive(id, threads);
#else
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

// Gives registers of each thread back or takes them, by a whole warpgroup: a multiple of 8. The kernel is a RIDGE_KERNEL_ALONE.
template <int REGISTERS> __device__ __forceinline__ void registers_fewer() {
#if !defined(RIDGE_MODEL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}
template <int REGISTERS> __device__ __forceinline__ void registers_more() {
#if !defined(RIDGE_MODEL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

#endif
