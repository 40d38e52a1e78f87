// Kernels of mbarrier, TMA and wgmma with one planted fault each, and some without: what the model must find and must not.
// All multiply rows 0 to 63 of V[128][192] by its rows 0 to 127, V[i][k] = (3i + 5k) % 7 − 3 in bf16, 64 of k at a time through two stages of 128 rows,
// and set y to 64 if every sum is right, to −1 if not. Warp 4 orders the copies, warps 0 to 3 multiply.
#include "ptx_tma.cuh"
#include "ptx_wgmma.cuh"

constexpr int STAGE = 128 * 128;

#define FAULTY(name, ...) FAULTY_OF(name, __VA_ARGS__)
#define FAULTY_OF(name, INIT, FREE, BYTES, READY, FENCE, STRIDE, ALL, BETWEEN, EARLY, DONE, LATE)                          \
  RIDGE_KERNEL(name, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {                                                   \
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);                                                                         \
    RIDGE_SHARED(uint64_t, bars, [4]);                                                                                    \
    RIDGE_SHARED(unsigned, wrong, [1]);                                                                                   \
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 16; \
    const int tid = threadIdx.x;                                                                                          \
    (void)n;                                                                                                              \
    if (tid == 0) {                                                                                                       \
      for (int s = 0; s < 2; s++) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, 4);                        \
      wrong[0] = 0;                                                                                                       \
      INIT;                                                                                                               \
    }                                                                                                                     \
    __syncthreads();                                                                                                      \
    if (tid == 128) {                                                                                                     \
      for (int s = 0; s < 3; s++) {                                                                                       \
        const int slot = s % 2, phase = s / 2;                                                                            \
        (void)phase;                                                                                                      \
        FREE;                                                                                                             \
        mbarrier_expect(full + 8 * slot, BYTES);                                                                          \
        tma_load(stages + slot * STAGE, map, full + 8 * slot, 64 * s, 0, 0);                                              \
      }                                                                                                                   \
    }                                                                                                                     \
    if (tid < 128) {                                                                                                      \
      float c[64] = {};                                                                                                   \
      for (int s = 0; s < 3; s++) {                                                                                       \
        const int slot = s % 2, phase = s / 2;                                                                            \
        (void)phase;                                                                                                      \
        READY;                                                                                                            \
        FENCE;                                                                                                            \
        const uint64_t v = wgmma_operand(stages + slot * STAGE, 16, STRIDE);                                              \
        for (int k = 0; k < 4; k++) {                                                                                     \
          if (ALL) WgmmaBf16::mma<false>(c, v + 2 * k, v + 2 * k);                                                            \
          BETWEEN;                                                                                                        \
        }                                                                                                                 \
        wgmma_commit();                                                                                                   \
        EARLY;                                                                                                            \
        DONE;                                                                                                             \
        LATE;                                                                                                             \
      }                                                                                                                   \
      for (int i = 0; i < 64; i++) {                                                                                      \
        const int row = tid / 32 * 16 + tid % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + tid % 4 * 2 + i % 2;           \
        float want = 0;                                                                                                   \
        for (int k = 0; k < 192; k++) want += (float)(((3 * row + 5 * k) % 7 - 3) * ((3 * column + 5 * k) % 7 - 3));      \
        if (c[i] != want) atomicAdd(&wrong[0], 1u);                                                                       \
      }                                                                                                                   \
    }                                                                                                                     \
    __syncthreads();                                                                                                      \
    if (tid < 64) y[64 * blockIdx.x + tid] = wrong[0] ? -1.0f : 64.0f;                                                    \
  }                                                                                                                       \
  RIDGE_ENTRY(name)

#define NOTHING (void)0
#define INIT mbarrier_init_fence()
#define FREE mbarrier_wait(empty + 8 * slot, phase ^ 1)
#define BYTES STAGE
#define READY mbarrier_wait(full + 8 * slot, phase)
#define FENCE wgmma_fence()
#define DONE wgmma_done(c)
#define RELEASE \
  if (tid % 32 == 0) mbarrier_arrive(empty + 8 * slot)
// Thread 5 writes an element as it is, and the others go on behind it.
#define WRITTEN(BEHIND)                                                                       \
  READY;                                                                                      \
  named_barrier(1, 128);                                                                      \
  if (tid == 5) *(volatile unsigned short *)(stages + slot * STAGE) = *(volatile unsigned short *)(stages + slot * STAGE); \
  BEHIND;                                                                                     \
  named_barrier(1, 128)

FAULTY(fault_none_hopper, INIT, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_none_hopper_written, INIT, FREE, BYTES, WRITTEN(proxy_fence()), FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_no_full_wait, INIT, FREE, BYTES, NOTHING, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_no_empty_wait, INIT, NOTHING, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_full_phase, INIT, FREE, BYTES, mbarrier_wait(full + 8 * slot, phase ^ 1), FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_empty_phase, INIT, mbarrier_wait(empty + 8 * slot, phase), BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_more_bytes, INIT, FREE, BYTES + 16, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_fewer_bytes, INIT, FREE, BYTES - 16, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_early_release, INIT, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, RELEASE, DONE, NOTHING)
FAULTY(fault_hopper_release_without_wait, INIT, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, if (s == 2) DONE, RELEASE)
FAULTY(fault_hopper_never_released, INIT, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, NOTHING)
FAULTY(fault_hopper_no_wgmma_wait, INIT, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, NOTHING, if (s == 0) RELEASE)
FAULTY(fault_hopper_short_wgmma_wait, INIT, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, if (s < 2) DONE; else wgmma_wait<1>(), RELEASE)
FAULTY(fault_hopper_no_wgmma_fence, INIT, FREE, BYTES, READY, NOTHING, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_no_init_fence, NOTHING, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_stride, INIT, FREE, BYTES, READY, FENCE, 512, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_no_swizzle, INIT, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_three_warps, INIT, FREE, BYTES, READY, FENCE, 1024, tid / 32 != 2, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_sums_touched, INIT, FREE, BYTES, READY, FENCE, 1024, true, c[3] = 0, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_no_proxy_fence, INIT, FREE, BYTES, WRITTEN(NOTHING), FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_barrier_is_data, bars[0] = 0, FREE, BYTES, READY, FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_named_count, INIT, FREE, BYTES, READY; named_barrier(1, 160), FENCE, 1024, true, NOTHING, NOTHING, DONE, RELEASE)
