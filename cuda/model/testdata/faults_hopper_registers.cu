// Kernels of wgmma with A from registers, and of named barriers at which some only arrive, with one planted fault each: what the model must find and must not.
// The first ones sum P_s·V_s over s < 3, P_s[i][k] = (i + 2k + s) % 5 − 2 in bf16 from registers, V_s columns 64s to 64s + 63 of V[128][192] of faults_hopper.cu
// through two stages, and set y to 64 if every sum is right, to −1 if not. Warp 4 orders the copies, warps 0 to 3 multiply.
#include "ptx_mma.cuh"
#include "ptx_tma.cuh"
#include "ptx_wgmma_registers.cuh"

constexpr int STAGE = 128 * 128;

static int p_of(int s, int i, int k) { return (i + 2 * k + s) % 5 - 2; }
static unsigned pair_of(int s, int i, int k) { return Pair<ridge_bf16>::of((float)p_of(s, i, k), (float)p_of(s, i, k + 1)); }

#define FAULTY(name, ...) FAULTY_OF(name, __VA_ARGS__)
#define FAULTY_OF(name, READY, BEFORE, FENCE, BEHIND, GOING, DONE, LATE)                                                      \
  RIDGE_KERNEL(name, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {                                                       \
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);                                                                             \
    RIDGE_SHARED(uint64_t, bars, [4]);                                                                                        \
    RIDGE_SHARED(unsigned, wrong, [1]);                                                                                       \
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 16; \
    const int tid = threadIdx.x;                                                                                              \
    (void)n;                                                                                                                  \
    if (tid == 0) {                                                                                                           \
      for (int s = 0; s < 2; s++) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, 4);                            \
      wrong[0] = 0;                                                                                                           \
      mbarrier_init_fence();                                                                                                  \
    }                                                                                                                         \
    __syncthreads();                                                                                                          \
    if (tid == 128) {                                                                                                         \
      for (int s = 0; s < 3; s++) {                                                                                           \
        const int slot = s % 2;                                                                                               \
        mbarrier_wait(empty + 8 * slot, s / 2 ^ 1);                                                                           \
        mbarrier_expect(full + 8 * slot, STAGE);                                                                              \
        tma_load(stages + slot * STAGE, map, full + 8 * slot, 64 * s, 0, 0);                                                  \
      }                                                                                                                       \
    }                                                                                                                         \
    if (tid < 128) {                                                                                                          \
      const int row0 = tid / 32 * 16 + tid % 32 / 4, t = tid % 4;                                                             \
      float c[32] = {};                                                                                                       \
      unsigned a[8][4];                                                                                                       \
      for (int s = 0; s < 3; s++) {                                                                                           \
        const int slot = s % 2;                                                                                               \
        READY;                                                                                                                \
        BEFORE;                                                                                                               \
        FENCE;                                                                                                                \
        BEHIND;                                                                                                               \
        const uint64_t v = wgmma_operand(stages + slot * STAGE, STAGE, 1024);                                                 \
        for (int k = 0; k < 8; k++) wgmma_registers(c, a[k], v + 128 * k);                                                    \
        wgmma_commit();                                                                                                       \
        GOING;                                                                                                                \
        DONE;                                                                                                                 \
        LATE;                                                                                                                 \
      }                                                                                                                       \
      for (int i = 0; i < 32; i++) {                                                                                          \
        const int row = row0 + i / 2 % 2 * 8, column = i / 4 * 8 + 2 * t + i % 2;                                             \
        float want = 0;                                                                                                       \
        for (int s = 0; s < 3; s++)                                                                                           \
          for (int k = 0; k < 128; k++) want += (float)(p_of(s, row, k) * ((3 * k + 5 * (64 * s + column)) % 7 - 3));         \
        if (c[i] != want) atomicAdd(&wrong[0], 1u);                                                                           \
      }                                                                                                                       \
    }                                                                                                                         \
    __syncthreads();                                                                                                          \
    if (tid < 64) y[64 * blockIdx.x + tid] = wrong[0] ? -1.0f : 64.0f;                                                        \
  }                                                                                                                           \
  RIDGE_ENTRY(name)

#define NOTHING (void)0
#define READY mbarrier_wait(full + 8 * slot, s / 2)
#define FILL_OF(S, ROW, HALF)                                                                                                  \
  for (int k = 0; k < 8; k++)                                                                                                  \
    for (int i = 0; i < 4; i++) a[k][i] = pair_of(S, row0 + (ROW) * 8, 16 * k + 2 * t + (HALF) * 8)
#define FILL FILL_OF(s, i % 2, i / 2)
#define FENCE wgmma_fence()
#define DONE wgmma_done(c)
#define RELEASE \
  if (tid % 32 == 0) mbarrier_arrive(empty + 8 * slot)

FAULTY(fault_none_hopper_registers, READY, FILL, FENCE, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_registers_touched, READY, FILL, FENCE, NOTHING, if (tid == 77) a[3][1] = 0, DONE, RELEASE)
FAULTY(fault_hopper_registers_next, READY, if (s == 0) FILL, FENCE, NOTHING, FILL_OF(s + 1, i % 2, i / 2), DONE, RELEASE)
FAULTY(fault_hopper_registers_read, READY, FILL, FENCE, NOTHING, if (a[2][0] != pair_of(s, row0, 32 + 2 * t)) atomicAdd(&wrong[0], 1u), DONE, RELEASE)
FAULTY(fault_hopper_registers_behind_fence, READY, NOTHING, FENCE, FILL, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_registers_sums_behind_fence, READY, FILL, FENCE, c[5] *= 0.5f, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_registers_no_fence, READY, FILL, NOTHING, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_registers_sums_touched, READY, FILL, FENCE, NOTHING, c[31] = 0, DONE, RELEASE)
FAULTY(fault_hopper_registers_swapped, READY, FILL_OF(s, i / 2, i % 2), FENCE, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_registers_full_phase, mbarrier_wait(full + 8 * slot, s / 2 ^ 1), FILL, FENCE, NOTHING, NOTHING, DONE, RELEASE)
FAULTY(fault_hopper_registers_early_release, READY, FILL, FENCE, NOTHING, RELEASE, DONE, NOTHING)
FAULTY(fault_hopper_registers_short_wait, READY, FILL, FENCE, NOTHING, NOTHING, wgmma_wait<1>(), NOTHING)

// Warp 4 writes what warps 0 to 3 read behind their wait, in two turns.
#define TURNS(name, WRITE, ARRIVE, BEHIND)                                  \
  RIDGE_KERNEL(name, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {     \
    RIDGE_SHARED(int, word, [64]);                                          \
    const int tid = threadIdx.x;                                            \
    (void)map, (void)n;                                                     \
    for (int s = 0; s < 2; s++) {                                           \
      if (tid >= 128) {                                                     \
        const int lane = tid - 128;                                         \
        WRITE;                                                              \
        ARRIVE;                                                             \
        BEHIND;                                                             \
      } else {                                                              \
        named_barrier(1 + s, 160);                                          \
        if (tid < 64 && word[32 * s + tid % 32] != tid % 32) y[64 * blockIdx.x + tid] = -1.0f; \
        else if (tid < 64) y[64 * blockIdx.x + tid] = 64.0f;                \
      }                                                                     \
    }                                                                       \
  }                                                                         \
  RIDGE_ENTRY(name)
#define WRITE word[32 * s + lane] = lane
#define ARRIVE named_barrier_arrive(1 + s, 160)
TURNS(fault_none_hopper_turns, WRITE, ARRIVE, NOTHING)
TURNS(fault_hopper_turns_no_arrive, WRITE, if (s == 0) ARRIVE, NOTHING)
TURNS(fault_hopper_turns_twice, WRITE, named_barrier_arrive(1, 160); named_barrier_arrive(1, 160), NOTHING)
TURNS(fault_hopper_turns_written_behind, NOTHING, ARRIVE, WRITE)
TURNS(fault_hopper_turns_count, WRITE, named_barrier_arrive(1 + s, 128), NOTHING)
