// Kernels of clusters of two blocks with one planted fault each, and some without: what the model must find and must not.
// Every block multiplies rows 0 to 63 of V[128][192] by its rows 0 to 127, V as in faults_hopper.cu, 64 of k at a time through two stages of 128 rows, of which each block
// of a cluster brings 64 to both. y is 64 if every sum is right, −1 if not. Warp 4 orders the copies, warps 0 to 3 multiply; there is no block 3's part of y.
#include "ptx_cluster.cuh"
#include "ptx_wgmma.cuh"

constexpr int STAGE = 128 * 128;

#define FAULTY(name, ...) FAULTY_OF(name, __VA_ARGS__)
#define FAULTY_OF(name, COUNT, BEGIN, FREE, BYTES, MASK, READY, EARLY, RELEASE, END)                                        \
  RIDGE_KERNEL(name, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {                                                   \
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);                                                                         \
    RIDGE_SHARED(uint64_t, bars, [4]);                                                                                    \
    RIDGE_SHARED(unsigned, wrong, [1]);                                                                                   \
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 16; \
    const int tid = threadIdx.x, lane = tid % 32;                                                                         \
    const unsigned rank = cluster_rank();                                                                                 \
    (void)n, (void)lane;                                                                                                  \
    if (tid == 0) {                                                                                                       \
      for (int s = 0; s < 2; s++) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, COUNT);                    \
      wrong[0] = 0;                                                                                                       \
      mbarrier_init_fence();                                                                                              \
    }                                                                                                                     \
    BEGIN;                                                                                                                \
    if (tid == 128) {                                                                                                     \
      for (int s = 0; s < 3; s++) {                                                                                       \
        const int slot = s % 2, phase = s / 2;                                                                            \
        (void)phase;                                                                                                      \
        FREE;                                                                                                             \
        mbarrier_expect(full + 8 * slot, BYTES);                                                                          \
        tma_load_multicast(stages + slot * STAGE + rank * (STAGE / 2), map, full + 8 * slot, 64 * s, (int)rank * 64, 0, MASK); \
      }                                                                                                                   \
    }                                                                                                                     \
    if (tid < 128) {                                                                                                      \
      float c[64] = {};                                                                                                   \
      for (int s = 0; s < 3; s++) {                                                                                       \
        const int slot = s % 2, phase = s / 2;                                                                            \
        (void)phase;                                                                                                      \
        READY;                                                                                                            \
        wgmma_fence();                                                                                                    \
        const uint64_t v = wgmma_operand(stages + slot * STAGE, 16, 1024);                                                \
        for (int k = 0; k < 4; k++) WgmmaBf16::mma<false>(c, v + 2 * k, v + 2 * k);                                        \
        wgmma_commit();                                                                                                   \
        EARLY;                                                                                                            \
        wgmma_done(c);                                                                                                    \
        RELEASE;                                                                                                          \
      }                                                                                                                   \
      for (int i = 0; i < 64; i++) {                                                                                      \
        const int row = tid / 32 * 16 + tid % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + tid % 4 * 2 + i % 2;           \
        float want = 0;                                                                                                   \
        for (int k = 0; k < 192; k++) want += (float)(((3 * row + 5 * k) % 7 - 3) * ((3 * column + 5 * k) % 7 - 3));      \
        if (c[i] != want) atomicAdd(&wrong[0], 1u);                                                                       \
      }                                                                                                                   \
    }                                                                                                                     \
    __syncthreads();                                                                                                      \
    if (tid < 64 && blockIdx.x < 3) y[64 * blockIdx.x + tid] = wrong[0] ? -1.0f : 64.0f;                                  \
    __syncwarp();                                                                                                         \
    END;                                                                                                                  \
  }                                                                                                                       \
  RIDGE_ENTRY(name)

#define NOTHING (void)0
#define BOTH 8
#define BEGIN cluster_barrier()
#define FREE mbarrier_wait(empty + 8 * slot, phase ^ 1)
#define READY mbarrier_wait(full + 8 * slot, phase)
#define RELEASE \
  if (lane < 2) mbarrier_arrive_cluster(cluster_map(empty + 8 * slot, lane))
#define RELEASE_OWN \
  if (lane == 0) mbarrier_arrive(empty + 8 * slot)
#define END cluster_barrier()
// Thread 5 writes an element of block 0's half as it is: its arrival does not order that before block 0's next copy.
#define WRITTEN                                                                               \
  READY;                                                                                      \
  named_barrier(1, 128);                                                                      \
  if (tid == 5) *(volatile unsigned short *)(stages + slot * STAGE) = *(volatile unsigned short *)(stages + slot * STAGE); \
  proxy_fence();                                                                              \
  named_barrier(1, 128)

FAULTY(fault_none_hopper_cluster, BOTH, BEGIN, FREE, STAGE, 3, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_mask, BOTH, BEGIN, FREE, STAGE, 1u << rank, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_mask_of_peer, BOTH, BEGIN, FREE, STAGE, 2u >> rank, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_mask_beyond, BOTH, BEGIN, FREE, STAGE, 7, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_no_remote_arrive, BOTH, BEGIN, FREE, STAGE, 3, READY, NOTHING, RELEASE_OWN, END)
FAULTY(fault_hopper_cluster_own_consumers_alone, 4, BEGIN, FREE, STAGE, 3, READY, NOTHING, RELEASE_OWN, END)
FAULTY(fault_hopper_cluster_no_empty_wait, BOTH, BEGIN, NOTHING, STAGE, 3, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_full_phase, BOTH, BEGIN, FREE, STAGE, 3, mbarrier_wait(full + 8 * slot, phase ^ 1), NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_empty_phase, BOTH, BEGIN, mbarrier_wait(empty + 8 * slot, phase), STAGE, 3, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_early_release, BOTH, BEGIN, FREE, STAGE, 3, READY, RELEASE, NOTHING, END)
FAULTY(fault_hopper_cluster_own_bytes, BOTH, BEGIN, FREE, STAGE / 2, 3, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_written, BOTH, BEGIN, FREE, STAGE, 3, WRITTEN, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_no_first_barrier, BOTH, __syncthreads(), FREE, STAGE, 3, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_no_last_barrier, BOTH, BEGIN, FREE, STAGE, 3, READY, NOTHING, RELEASE, NOTHING)
FAULTY(fault_hopper_cluster_part_of_a_warp, BOTH, BEGIN, FREE, STAGE, 3, READY, NOTHING, RELEASE, if (lane < 16) END)
FAULTY(fault_hopper_cluster_arrive_of_block, BOTH, BEGIN, FREE, STAGE, 3, READY, NOTHING, if (lane < 2) mbarrier_arrive(cluster_map(empty + 8 * slot, lane)), END)
FAULTY(fault_hopper_cluster_store_of_block, BOTH, BEGIN; if (tid == 5) *(volatile unsigned *)cluster_map(shared_address(wrong), 1 - rank) = 0, FREE, STAGE, 3, READY, NOTHING, RELEASE, END)
// A word for the other block, and the barrier before its threads read it; without that one; and with no block there.
#define STORED(rank) if (tid == 5) store_shared_cluster(cluster_map(shared_address(wrong), rank), 0)
FAULTY(fault_none_hopper_cluster_store, BOTH, BEGIN; STORED(1 - rank); __syncwarp(); BEGIN, FREE, STAGE, 3, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_store_not_ordered, BOTH, BEGIN; STORED(1 - rank), FREE, STAGE, 3, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_store_beyond, BOTH, BEGIN; STORED(2), FREE, STAGE, 3, READY, NOTHING, RELEASE, END)
FAULTY(fault_hopper_cluster_map_beyond, BOTH, BEGIN, FREE, STAGE, 3, READY, NOTHING, if (lane < 3) mbarrier_arrive_cluster(cluster_map(empty + 8 * slot, lane)), END)
// Launched without a cluster.
FAULTY(fault_hopper_alone, BOTH, BEGIN, FREE, STAGE, 3, READY, NOTHING, RELEASE, END)
