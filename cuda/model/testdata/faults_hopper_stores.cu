// Kernels that store by TMA with one planted fault each, and one without. A block writes its 64 of 192 columns of V[128][192], of 16 bits, from one tile of 64 rows, twice: V[i][k] = 7i + k.
// Then fault_stored sets y to 64 where V is right, to −1 where it is not; the map's first word is V's address, as the tests' driver has it.
#include "ptx_tma.cuh"

constexpr int ROWS = 64;

#define FAULTY(name, ...) FAULTY_OF(name, __VA_ARGS__)
#define FAULTY_OF(name, FREE, PLACE, FENCE, READY, COMMIT, DONE, LAST)                                                       \
  RIDGE_KERNEL(name, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {                                                   \
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);                                                                         \
    const shared_at tile = (shared_address(dynamic) + 1023) & ~(shared_at)1023;                                           \
    const int tid = threadIdx.x;                                                                                          \
    (void)n, (void)y;                                                                                                     \
    for (int s = 0; s < 2; s++) {                                                                                         \
      FREE;                                                                                                               \
      for (int i = tid; i < ROWS * 8; i += 160) {                                                                         \
        const int row = i / 8, chunk = i % 8;                                                                             \
        pack<unsigned short> v;                                                                                           \
        for (int e = 0; e < 8; e++) v.at[e] = (unsigned short)(7 * (ROWS * s + row) + 64 * (int)blockIdx.x + 8 * chunk + e); \
        store_pack((pack<unsigned short> *)(tile + row * 128 + (PLACE) * 16), v);                                         \
      }                                                                                                                   \
      FENCE;                                                                                                              \
      READY;                                                                                                              \
      if (tid == 0) {                                                                                                     \
        tma_store(map, tile, 64 * (int)blockIdx.x, ROWS * s, 0);                                                          \
        COMMIT;                                                                                                           \
      }                                                                                                                   \
    }                                                                                                                     \
    DONE;                                                                                                                 \
    LAST;                                                                                                                 \
  }                                                                                                                       \
  RIDGE_ENTRY(name)

#define NOTHING (void)0
#define WAIT \
  if (tid == 0) tma_store_read<0>()
#define FREE \
  WAIT;      \
  __syncthreads()
#define PLACE chunk ^ row % 8
#define FENCE proxy_fence()
#define READY __syncthreads()
#define COMMIT tma_store_commit()
#define READ \
  if (tid == 0) y[0] = *(*(float *const *)&map + 32 * blockIdx.x)

FAULTY(fault_none_hopper_store, FREE, PLACE, FENCE, READY, COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_no_wait, NOTHING, PLACE, FENCE, READY, COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_wait_of_one_alone, WAIT, PLACE, FENCE, READY, COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_wait_for_too_few, if (tid == 0) tma_store_read<1>(); __syncthreads(), PLACE, FENCE, READY, COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_no_fence, FREE, PLACE, NOTHING, READY, COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_fence_of_one_alone, FREE, PLACE, if (tid == 0) proxy_fence(), READY, COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_no_barrier, FREE, PLACE, FENCE, NOTHING, COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_no_commit, FREE, PLACE, FENCE, READY, if (s == 0) COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_no_last_wait, FREE, PLACE, FENCE, READY, COMMIT, NOTHING, NOTHING)
FAULTY(fault_hopper_store_other_swizzle, FREE, chunk, FENCE, READY, COMMIT, WAIT, NOTHING)
FAULTY(fault_hopper_store_read_at_once, FREE, PLACE, FENCE, READY, COMMIT, WAIT, READ)

RIDGE_KERNEL(fault_stored, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {
  const unsigned short *v = *(const unsigned short *const *)&map;
  const int tid = threadIdx.x, column = 64 * blockIdx.x + tid;
  (void)n;
  if (tid >= 64) return;
  bool right = true;
  for (int i = 0; i < 128; i++) right = right && v[192 * i + column] == (unsigned short)(7 * i + column);
  y[column] = right ? 64.0f : -1.0f;
}
RIDGE_ENTRY(fault_stored)
