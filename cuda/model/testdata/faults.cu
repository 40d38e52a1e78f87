// Kernels with one planted fault each, and one without: what the model must find and must not.
// All compute y[i] = the sum of x over i's block, through shared memory.
#include "ridge_cuda.cuh"

#define FAULTY(name, INIT, INDEX, FIRST_BARRIER, SECOND)                           \
  RIDGE_KERNEL(name, 64)(const float *x, float *y, int64_t n) {                    \
    RIDGE_SHARED(float, tile, [64]);                                               \
    const int t = threadIdx.x;                                                     \
    const int64_t i = global_thread();                                             \
    (void)n;                                                                       \
    if (INIT) tile[INDEX] = x[i];                                                  \
    FIRST_BARRIER;                                                                 \
    float s = 0;                                                                   \
    for (int k = 0; k < 64; k++) s += tile[k];                                     \
    SECOND;                                                                        \
    y[i] = s;                                                                      \
  }                                                                                \
  RIDGE_ENTRY(name)

FAULTY(fault_none, true, t, __syncthreads(), (void)0)
FAULTY(fault_no_barrier, true, t, (void)0, (void)0)
FAULTY(fault_shared_bounds, true, t + 1, __syncthreads(), (void)0)
FAULTY(fault_shared_far, true, t * 4096, __syncthreads(), (void)0)
FAULTY(fault_uninitialised, t < 63, t, __syncthreads(), (void)0)
FAULTY(fault_no_second_barrier, true, t, __syncthreads(), tile[t] = s)
FAULTY(fault_divergent, true, t, __syncthreads(), if (t < 32) __syncthreads())
FAULTY(fault_early_exit, true, t, if (t == 5) return; __syncthreads(), (void)0)
FAULTY(fault_two_barriers, true, t, if (t < 32) __syncthreads(); else
       __syncthreads(), (void)0)
FAULTY(fault_global_read, true, t, __syncthreads(), s += x[n + t])
FAULTY(fault_global_write, true, t, __syncthreads(), y[n] = s)
FAULTY(fault_null, true, t, __syncthreads(), s += *(const float *)(uintptr_t)(n - n))
FAULTY(fault_misaligned, true, t, __syncthreads(), s += load_pack((const pack<float> *)(x + 1)).at[0])
FAULTY(fault_same_element, true, t, __syncthreads(), y[0] = s)
FAULTY(fault_shuffle_mask, true, t, __syncthreads(), s += __shfl_xor_sync(0x0000ffffu, s, 16))
FAULTY(fault_shuffle_deadlock, true, t, __syncthreads(), if (t != 7) s += __shfl_xor_sync(0xffffffffu, s, 1))
FAULTY(fault_unmodelled, true, t, __syncthreads(), RIDGE_UNMODELLED("wgmma"))

// Words that must work: shuffles, ballots, atomics, warp barriers and dynamic shared memory.
RIDGE_KERNEL(fault_none_words, 64)(const float *x, float *y, int64_t n) {
  RIDGE_DYNAMIC_SHARED(float, buffer);
  RIDGE_SHARED(unsigned, votes, [1]);
  const int t = threadIdx.x, lane = t & 31;
  if (t == 0) votes[0] = 0;
  __syncthreads();
  float s = x[global_thread()];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  float first = __shfl_sync(0xffffffffu, s, 0), up = __shfl_up_sync(0xffffffffu, (float)lane, 1), down = __shfl_down_sync(0xffffffffu, (float)lane, 1);
  buffer[t] = s;
  __syncwarp();
  s = buffer[t ^ 1]; // written by a lane of the same warp
  if (lane == 0) atomicAdd(&votes[0], (unsigned)__builtin_popcount(0xffu));
  unsigned odd = __ballot_sync(0xffffffffu, lane & 1);
  __syncthreads();
  bool good = first == s && up == (lane ? lane - 1 : 0) && down == (lane < 31 ? lane + 1 : 31) && odd == 0xaaaaaaaau && votes[0] == 16;
  y[global_thread()] = good ? buffer[0] + buffer[32] : -1;
  (void)n;
}
RIDGE_ENTRY(fault_none_words)
