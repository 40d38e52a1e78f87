// cp.async: copies to shared memory that pass by the registers and land later. A thread's copies since its last commit are a group;
// they are its own writes once it waited for the group: others see them behind a barrier that follows the wait.
#ifndef RIDGE_PTX_CP_ASYNC_CUH
#define RIDGE_PTX_CP_ASYNC_CUH

#include "ptx_ldmatrix.cuh"

template <int SIZE> struct Bytes;
template <> struct Bytes<1> {
  typedef unsigned char type;
};
template <> struct Bytes<2> {
  typedef unsigned short type;
};

// WIDTH bytes (16, 8 or 4), both addresses multiples of WIDTH; given (0 to WIDTH) are read, the others are 0. 16 bytes go past the first-level
// cache, fewer do not: the lines that neighbours share are fetched once.
template <int WIDTH = 16> __device__ __forceinline__ void copy_async(shared_at to, const void *from, int given) {
#if defined(RIDGE_MODEL)
  ridge_model_copy_async(to, from, WIDTH, (unsigned)given);
#else
  if constexpr (WIDTH == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(given) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(given), "n"(WIDTH) : "memory");
#endif
}

// 16 bytes to a multiple of 16, from a multiple of WIDTH; given (0 to 16) are read. Below a width of 4, which cp.async does not have, elements
// of WIDTH bytes (2 or 1) go through registers: they are there at once, and others see them behind a barrier.
template <int WIDTH> __device__ __forceinline__ void copy_chunk(shared_at to, const unsigned char *from, int given) {
  if constexpr (WIDTH >= 4) {
#pragma unroll
    for (int at = 0; at < 16; at += WIDTH) copy_async<WIDTH>(to + at, from + at, WIDTH == 16 ? given : max(0, min(WIDTH, given - at)));
  } else {
    typedef typename Bytes<WIDTH>::type element;
    unsigned words[4] = {};
#pragma unroll
    for (int at = 0; at < 16; at += WIDTH)
      if (at < given) words[at / 4] |= (unsigned)*(const element *)(from + at) << at % 4 * 8;
    store_shared(to, words);
  }
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
