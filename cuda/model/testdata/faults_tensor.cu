// Kernels of cp.async, ldmatrix and mma with one planted fault each, and one without: what the model must find and must not.
// All fill y of their block with 0…63 as a matrix of 8 × 8, copy it to shared memory, multiply it (rows 8 to 15: the same in reverse) by
// B[k][n] = (3k + n) % 5 and set y to 64 if every sum is right, to −1 if not.
#include "ptx_cp_async.cuh"
#include "ptx_mma.cuh"
#include "ptx_tf32.cuh"

__device__ __forceinline__ int place(int row, int chunk, int f) { return (2 * row + (chunk ^ f)) * 16; } // four rows to 128 bytes

__device__ __forceinline__ void again(shared_at at, const float *from, int tid) {
  copy_async(at + place(tid / 2, tid % 2, tid / 8), from + 4 * tid, 16);
  copy_commit();
  copy_wait<0>();
}

#define FAULTY(name, ...) FAULTY_OF(name, __VA_ARGS__)
#define FAULTY_OF(name, WIDTH, FROM, COPIED, WAIT, BARRIER, F, SWAP, ALL, AFTER)                                                   \
  RIDGE_KERNEL(name, 64)(const float *x, float *y, int64_t n) {                                                           \
    RIDGE_SHARED(float, tile, [64]);                                                                                      \
    const shared_at at = shared_address(tile);                                                                            \
    const int tid = threadIdx.x, lane = tid % 32, g = lane / 4, t = lane % 4;                                             \
    float *mine = y + 64 * blockIdx.x;                                                                                    \
    (void)x, (void)n;                                                                                                     \
    mine[tid] = (float)tid;                                                                                               \
    __syncthreads();                                                                                                      \
    if (tid < 16) copy_chunk<WIDTH>(at + place(tid / 2, tid % 2, tid / 8), (const unsigned char *)(FROM), COPIED);        \
    copy_commit();                                                                                                        \
    WAIT;                                                                                                                 \
    BARRIER;                                                                                                              \
    unsigned a[4], b[2];                                                                                                  \
    const int row = lane / 8 % 2 ? 7 - lane % 8 : lane % 8;                                                               \
    ldmatrix(a, at + place(row, lane / 16, F));                                                                           \
    for (int h = 0; h < 2; h++) b[h] = __float_as_uint((float)((3 * (t + 4 * h) + g) % 5));                               \
    SWAP;                                                                                                                 \
    float c[4] = {};                                                                                                      \
    if (ALL) MmaTf32::mma(c, a, b);                                                                                       \
    bool good = true;                                                                                                     \
    for (int i = 0; i < 4; i++) {                                                                                         \
      float want = 0;                                                                                                     \
      for (int k = 0; k < 8; k++) want += (float)((i < 2 ? g : 7 - g) * 8 + k) * (float)((3 * k + 2 * t + i % 2) % 5);    \
      good = good && c[i] == want;                                                                                        \
    }                                                                                                                     \
    AFTER;                                                                                                                \
    __syncthreads();                                                                                                      \
    mine[tid] = good ? 64.0f : -1.0f;                                                                                     \
  }                                                                                                                       \
  RIDGE_ENTRY(name)

#define RIGHT mine + 4 * tid, 16
#define RIGHT_F (row / 4)
#define NOTHING (void)0

FAULTY(fault_none_tensor, 16, RIGHT, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_no_wait, 16, RIGHT, NOTHING, __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_wait_for_too_few, 16, RIGHT, copy_wait<1>(), __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_wait_without_barrier, 16, RIGHT, copy_wait<0>(), NOTHING, RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_barrier_before_wait, 16, RIGHT, __syncthreads(), copy_wait<0>(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_no_swizzle, 16, RIGHT, copy_wait<0>(), __syncthreads(), 0, NOTHING, true, NOTHING)
FAULTY(fault_wrong_swizzle, 16, RIGHT, copy_wait<0>(), __syncthreads(), (row / 4 ^ 1), NOTHING, true, NOTHING)
FAULTY(fault_swapped_fragment, 16, RIGHT, copy_wait<0>(), __syncthreads(), RIGHT_F, unsigned s = a[1]; a[1] = a[2]; a[2] = s, true, NOTHING)
FAULTY(fault_mma_without_a_lane, 16, RIGHT, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, lane != 3, NOTHING)
FAULTY(fault_copy_over_readers, 16, RIGHT, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, true, if (tid < 16) again(at, mine, tid))
FAULTY(fault_copy_beyond, 16, RIGHT, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, true, copy_async(at, y + 192, 16))
FAULTY(fault_copy_misaligned, 16, mine + 4 * tid + 1, 12, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_none_narrow, 4, RIGHT, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_none_elements, 2, RIGHT, NOTHING, __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_narrow_no_wait, 8, RIGHT, NOTHING, __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_narrow_misaligned, 4, (const char *)(mine + 4 * tid) + 2, 12, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_narrow_cut_off, 4, mine + 4 * tid, 14, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_elements_no_barrier, 2, RIGHT, NOTHING, NOTHING, RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_elements_beyond, 2, tid < 15 ? mine + 4 * tid : y + 192, 16, NOTHING, __syncthreads(), RIGHT_F, NOTHING, true, NOTHING)
FAULTY(fault_copy_left, 16, RIGHT, copy_wait<0>(), __syncthreads(), RIGHT_F, NOTHING, true, __syncthreads(); if (tid < 16) copy_async(at + 16 * tid, mine, 0))

// 8 products of v = 1 + 3·2^-12 at tf32 by 1, and of what v leaves over: tf32 has 1 + 2^-10 for v, and the rest is -2^-12. Cut off, v would be 1.
#define ROUNDED(name, BIG, LEFT)                                                                                          \
  RIDGE_KERNEL(name, 64)(const float *x, float *y, int64_t n) {                                                           \
    const float v = 1.0f + 3 * 0x1p-12f;                                                                                  \
    const unsigned big = BIG, rest = __float_as_uint(v - LEFT), one = __float_as_uint(1.0f);                              \
    (void)x, (void)n;                                                                                                     \
    const unsigned a[4] = {big, big, big, big}, r[4] = {rest, rest, rest, rest}, b[2] = {one, one};                       \
    float c[4] = {}, d[4];                                                                                                \
    MmaTf32::mma(c, a, b);                                                                                                \
    mma_tf32_first(d, r, b);                                                                                              \
    y[64 * blockIdx.x + threadIdx.x] = c[0] == 8 * (1 + 0x1p-10f) && d[3] == -8 * 0x1p-12f ? 64.0f : -1.0f;               \
  }                                                                                                                       \
  RIDGE_ENTRY(name)

ROUNDED(fault_none_rounded, tf32_of(v), tf32_value(big))
ROUNDED(fault_not_rounded, __float_as_uint(v), tf32_value(tf32_of(v)))
ROUNDED(fault_low_bits_of_tf32, tf32_of(v), __uint_as_float(big))

// Two tf32 of numbers to and from the ends, of what is not finite, and others: big as tf32_of has it and small the rest; of what is not finite a NaN that the upper bits of one of them show.
#define SPLIT(name, DO)                                                                                                 \
  RIDGE_KERNEL(name, 64)(const float *x, float *y, int64_t n) {                                                         \
    const unsigned ends[24] = {0x7f800000u, 0xff800000u, 0x7fffffffu, 0xffffffffu, 0x7f800001u, 0xff800001u, 0x7ffff000u, 0x7fc00000u, 0u, 0x80000000u, 1u, 0xfffu, 0x1000u, 0x807fffffu, 0x00800000u, 0x7f7fefffu, \
                               0xff7fefffu, 0x3f800fffu, 0x3f801000u, 0x3f801001u, 0x3f803000u, 0x3fffefffu, 0x3ffff000u, 0xbfffffffu};                                                                          \
    const unsigned i = 64 * blockIdx.x + threadIdx.x, u = i < 24 ? ends[i] : i * 0x9e3779b9u & 0xbfffffffu, quiet = 0xffffe000u;                                                                               \
    const float v = __uint_as_float(u);                                                                                 \
    unsigned big, small;                                                                                                \
    DO;                                                                                                                 \
    const bool finite = (u & 0x7f800000u) != 0x7f800000u, nan = (big & quiet & 0x7fffffffu) > 0x7f800000u || (small & quiet & 0x7fffffffu) > 0x7f800000u;  \
    const float whole = tf32_value(tf32_of(v));                                                                         \
    const bool right = finite ? big == __float_as_uint(whole) && __uint_as_float(small) == v - whole : nan;              \
    (void)n;                                                                                                            \
    y[i] = right && x[i] == 1 ? 64.0f : -1.0f;                                                                          \
  }                                                                                                                     \
  RIDGE_ENTRY(name)

SPLIT(fault_none_split, tf32_split(v, big, small))
SPLIT(fault_split_cut_off, big = u & quiet; small = __float_as_uint(v - __uint_as_float(big)))
SPLIT(fault_split_without_nan, tf32_split(v, big, small); if (v != v) small = 0)
