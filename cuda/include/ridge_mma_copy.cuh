// Where the stages of ridge_mma_tile.cuh come from: a thread's copies of an operand, 16 bytes each. A source has
//
//   fetch(to, left)   copies a stage to the operand's place in shared memory and goes on to the next; left: bytes of k from this stage on
//
// and knows its thread's rows and chunk. WIDTH is what addresses and pitches are multiples of: 16, 8 or 4 bytes for cp.async of so many, or the
// size of an element of 2 or 1 bytes, which goes through registers. P is an operand of ridge_mma_tile.cuh.
#ifndef RIDGE_MMA_COPY_CUH
#define RIDGE_MMA_COPY_CUH

#include "ptx_cp_async.cuh"

// MOVED rows along k, 64 bytes a stage, each APART rows behind the one before.
template <class P, int MOVED, int APART, int WIDTH = 16> struct RowsAlong {
  static_assert(APART % 8 == 0, "a thread's rows have one swizzle");
  const unsigned char *from[MOVED];
  int chunk, at;

  // row(r): where row r of the tile begins.
  template <class F> __device__ __forceinline__ explicit RowsAlong(F row) {
    const int first = threadIdx.x / 4;
    chunk = threadIdx.x % 4, at = P::place(first, chunk);
#pragma unroll
    for (int i = 0; i < MOVED; i++) from[i] = (const unsigned char *)row(first + i * APART) + chunk * 16;
  }
  __device__ __forceinline__ void fetch(shared_at to, int left) {
    const int given = max(0, min(16, left - chunk * 16));
#pragma unroll
    for (int i = 0; i < MOVED; i++) {
      copy_chunk<WIDTH>(to + at + i * (APART * 64), from[i], given);
      from[i] += 64;
    }
  }
};

// MOVED rows along columns, rows of BYTES in shared memory and pitch bytes apart in memory, one for each k; columns: bytes of a row that are
// left from the tile's first.
template <class P, int MOVED, int APART, int BYTES, int WIDTH = 16> struct RowsAcross {
  static_assert(APART % (P::SIZE == 1 ? 16 : P::SIZE == 2 ? 8 : 4) == 0, "a thread's rows have one swizzle");
  const unsigned char *from[MOVED];
  int64_t ahead;
  int k, at, given;

  __device__ __forceinline__ RowsAcross(const void *b, int64_t pitch, int64_t columns) {
    const int chunk = threadIdx.x % (BYTES / 16);
    k = threadIdx.x / (BYTES / 16), at = k * BYTES + (chunk ^ P::across::f(k)) * 16, ahead = 64 / P::SIZE * pitch;
    given = (int)max((int64_t)0, min((int64_t)16, columns - chunk * 16));
#pragma unroll
    for (int i = 0; i < MOVED; i++) from[i] = (const unsigned char *)b + (k + i * APART) * pitch + chunk * 16;
  }
  __device__ __forceinline__ void fetch(shared_at to, int left) {
#pragma unroll
    for (int i = 0; i < MOVED; i++) {
      copy_chunk<WIDTH>(to + at + i * (APART * BYTES), from[i], (k + i * APART) * P::SIZE < left ? given : 0);
      from[i] += ahead;
    }
  }
};

#endif
