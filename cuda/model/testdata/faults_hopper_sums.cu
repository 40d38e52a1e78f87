// Kernels that keep sums of wgmma exact outside of the tensor cores, with one planted fault each, and some without: what the model must find and must not.
// Warp 4 orders the copies through two stages, warps 0 to 3 multiply and set y to 64 if every sum is right, to −1 if not.
#include "ptx_tf32.cuh"
#include "ptx_tma.cuh"
#include "ptx_wgmma_registers.cuh"

constexpr int STAGE = 128 * 128;

#define NOTHING (void)0
#define ADD \
  for (int i = 0; i < 64; i++) c[i] += part[i]
#define CHECK(DEPTH, TERM)                                                                                            \
  for (int i = 0; i < 64; i++) {                                                                                      \
    const int row = tid / 32 * 16 + tid % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + tid % 4 * 2 + i % 2;           \
    float want = 0;                                                                                                   \
    for (int k = 0; k < DEPTH; k++) want += TERM;                                                                     \
    if (c[i] != want) atomicAdd(&wrong[0], 1u);                                                                       \
  }
#define BEGIN(BARRIERS, LATER)                                                                                        \
  RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);                                                                       \
  RIDGE_SHARED(uint64_t, bars, [2 * BARRIERS]);                                                                       \
  RIDGE_SHARED(unsigned, wrong, [1]);                                                                                 \
  const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 16; \
  const int tid = threadIdx.x;                                                                                        \
  (void)n;                                                                                                            \
  if (tid == 0) {                                                                                                     \
    for (int s = 0; s < 2; s++) {                                                                                     \
      mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, 4);                                                \
      LATER;                                                                                                          \
    }                                                                                                                 \
    wrong[0] = 0;                                                                                                     \
    mbarrier_init_fence();                                                                                            \
  }                                                                                                                   \
  __syncthreads()
#define PRODUCE(STEPS, DEPTH, ROOM)                                                                                   \
  if (tid == 128) {                                                                                                   \
    for (int s = 0; s < STEPS; s++) {                                                                                 \
      mbarrier_wait(empty + 8 * (s % 2), s / 2 % 2 ^ 1);                                                              \
      mbarrier_expect(full + 8 * (s % 2), STAGE);                                                                     \
      tma_load(stages + s % 2 * ROOM, map, full + 8 * (s % 2), DEPTH * s, 0, 0);                                      \
    }                                                                                                                 \
  }
#define END      \
  __syncthreads(); \
  if (tid < 64) y[64 * blockIdx.x + tid] = wrong[0] ? -1.0f : 64.0f

// Rows 0 to 63 of V[128][1024] by its rows 0 to 127, V[i][k] = 1 + (3i + 5k) % 8 in e4m3: sums of 128 k are below 2^14, which the tensor cores hold, all sums are not.
static int eighths(int i, int k) { return 1 + (3 * i + 5 * k) % 8; }
#define PROMOTED(name, FRESH, EARLY, LATE, LAST)                                                  \
  RIDGE_KERNEL(name, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {                           \
    BEGIN(2, NOTHING);                                                                            \
    PRODUCE(8, 128, STAGE)                                                                        \
    if (tid < 128) {                                                                              \
      float c[64] = {}, part[64] = {};                                                            \
      for (int s = 0; s < 8; s++) {                                                               \
        mbarrier_wait(full + 8 * (s % 2), s / 2 % 2);                                             \
        wgmma_fence();                                                                            \
        const uint64_t v = wgmma_operand(stages + s % 2 * STAGE, 16, 1024);                       \
        if (FRESH) WgmmaE4m3::mma<true>(part, v, v);                                              \
        else WgmmaE4m3::mma<false>(part, v, v);                                                   \
        for (int k = 1; k < 4; k++) WgmmaE4m3::mma<false>(part, v + 2 * k, v + 2 * k);            \
        wgmma_commit();                                                                           \
        EARLY;                                                                                    \
        wgmma_done(part);                                                                         \
        if (tid % 32 == 0) mbarrier_arrive(empty + 8 * (s % 2));                                  \
        LATE;                                                                                     \
      }                                                                                           \
      LAST;                                                                                       \
      CHECK(1024, (float)(eighths(row, k) * eighths(column, k)))                                  \
    }                                                                                             \
    END;                                                                                          \
  }                                                                                               \
  RIDGE_ENTRY(name)

PROMOTED(fault_none_hopper_fp8, true, NOTHING, ADD, NOTHING)
PROMOTED(fault_hopper_fp8_not_promoted, s == 0, NOTHING, NOTHING, ADD)
PROMOTED(fault_hopper_fp8_not_begun_anew, false, NOTHING, ADD, NOTHING)
PROMOTED(fault_hopper_fp8_added_before_the_wait, true, ADD, NOTHING, NOTHING)

// P by rows 0 to 127 of V, both of [·][96], P from registers, by three products of tf32: P[i][k] = V[i][k] = n + m·2^-12, n = 1 + (i + k) % 3 and m = (i + k) / 3 % 3 − 1, is n
// at tf32. Warp 5 makes n of V where it lies and m·2^-12 behind it. The product of the small parts is left out.
static int big_of(int i, int k) { return 1 + (i + k) % 3; }
static int small_of(int i, int k) { return (i + k) / 3 % 3 - 1; }
#define SPLIT(name, FULL, FENCE, READY, SMALL, LOW)                                               \
  RIDGE_KERNEL(name, 192)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {                           \
    BEGIN(3, mbarrier_init(empty + 16 + 8 * s, 1));                                               \
    const shared_at split = empty + 16;                                                           \
    PRODUCE(3, 32, 2 * STAGE)                                                                     \
    if (tid >= 160) {                                                                             \
      for (int s = 0; s < 3; s++) {                                                               \
        const shared_at v = stages + s % 2 * 2 * STAGE;                                           \
        FULL;                                                                                     \
        for (int i = tid - 160; i < STAGE / 16; i += 32) {                                        \
          unsigned big[4], small[4];                                                              \
          load_shared(big, v + 16 * i);                                                           \
          for (int e = 0; e < 4; e++) tf32_split(__uint_as_float(big[e]), big[e], small[e]);      \
          store_shared(v + 16 * i, big);                                                          \
          store_shared(v + STAGE + 16 * i, small);                                                \
        }                                                                                         \
        FENCE;                                                                                    \
        __syncwarp();                                                                             \
        if (tid == 160) mbarrier_arrive(split + 8 * (s % 2));                                     \
      }                                                                                           \
    }                                                                                             \
    if (tid < 128) {                                                                              \
      float c[64] = {}, part[64];                                                                 \
      for (int s = 0; s < 3; s++) {                                                               \
        unsigned big[4][4], small[4][4];                                                          \
        for (int j = 0; j < 4; j++)                                                               \
          for (int e = 0; e < 4; e++) {                                                           \
            const int i = tid / 32 * 16 + tid % 32 / 4 + (LOW ? e % 2 : e / 2) * 8;               \
            const int k = 32 * s + 8 * j + tid % 4 + (LOW ? e / 2 : e % 2) * 4;                   \
            big[j][e] = __float_as_uint((float)big_of(i, k)) | 0x123u;                            \
            small[j][e] = __float_as_uint((float)small_of(i, k) * 0x1p-12f);                      \
          }                                                                                       \
        READY;                                                                                    \
        const uint64_t v = wgmma_operand(stages + s % 2 * 2 * STAGE, 16, 1024);                   \
        wgmma_fence();                                                                            \
        wgmma_registers_tf32<true>(part, small[0], v);                                            \
        for (int j = 1; j < 4; j++) wgmma_registers_tf32<false>(part, small[j], v + 2 * j);       \
        for (int j = 0; j < 4; j++) SMALL;                                                        \
        for (int j = 0; j < 4; j++) wgmma_registers_tf32<false>(part, big[j], v + 2 * j);         \
        wgmma_commit();                                                                           \
        wgmma_done(part);                                                                         \
        if (tid % 32 == 0) mbarrier_arrive(empty + 8 * (s % 2));                                  \
        ADD;                                                                                      \
      }                                                                                           \
      CHECK(96, (float)(big_of(row, k) * big_of(column, k)) +                                     \
                    (float)(big_of(row, k) * small_of(column, k) + small_of(row, k) * big_of(column, k)) * 0x1p-12f) \
    }                                                                                             \
    END;                                                                                          \
  }                                                                                               \
  RIDGE_ENTRY(name)
#define FULL mbarrier_wait(full + 8 * (s % 2), s / 2)
#define READY mbarrier_wait(split + 8 * (s % 2), s / 2)
#define SMALL wgmma_registers_tf32<false>(part, big[j], v + (STAGE >> 4) + 2 * j)

SPLIT(fault_none_hopper_split, FULL, proxy_fence(), READY, SMALL, true)
SPLIT(fault_hopper_split_no_full_wait, NOTHING, proxy_fence(), READY, SMALL, true)
SPLIT(fault_hopper_split_no_proxy_fence, FULL, NOTHING, READY, SMALL, true)
SPLIT(fault_hopper_split_not_waited_for, FULL, proxy_fence(), FULL, SMALL, true)
SPLIT(fault_hopper_split_without_small, FULL, proxy_fence(), READY, NOTHING, true)
SPLIT(fault_hopper_split_swapped, FULL, proxy_fence(), READY, SMALL, false)
