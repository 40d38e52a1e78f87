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

// The tile comes by TMA, each thread changes what it has read of it, and it leaves by TMA: thread 0 orders both, behind a barrier of threads, which begins no new epoch as __syncthreads does. The next tile comes to
// the same place when the last one has been read, by threads of other warps and then by the store, each behind the ones before it.
#define REPLACED(name, FREE, MEET, LATE)                                                                                  \
  RIDGE_KERNEL(name, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {                                                   \
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);                                                                         \
    RIDGE_SHARED(uint64_t, bars, [1]);                                                                                    \
    const shared_at tile = (shared_address(dynamic) + 1023) & ~(shared_at)1023, bar = shared_address(bars);               \
    const int tid = threadIdx.x;                                                                                          \
    (void)n, (void)y;                                                                                                     \
    if (tid == 0) {                                                                                                       \
      mbarrier_init(bar, 1);                                                                                              \
      mbarrier_init_fence();                                                                                              \
    }                                                                                                                     \
    __syncthreads();                                                                                                      \
    for (int s = 0; s < 2; s++) {                                                                                         \
      if (tid == 0) {                                                                                                     \
        FREE;                                                                                                             \
        mbarrier_expect(bar, ROWS * 128);                                                                                 \
        tma_load(tile, map, bar, 64 * (int)blockIdx.x, ROWS * s, 0);                                                      \
      }                                                                                                                   \
      mbarrier_wait(bar, s);                                                                                              \
      for (int i = tid; i < ROWS * 8; i += 160) {                                                                         \
        const int row = i / 8, chunk = i % 8;                                                                             \
        pack<unsigned short> *at = (pack<unsigned short> *)(tile + row * 128 + (PLACE) * 16), v = load_pack(at);          \
        for (int e = 0; e < 8; e++) {                                                                                     \
          const int r = ROWS * s + row, c = 64 * (int)blockIdx.x + 8 * chunk + e;                                         \
          const bool came = v.at[e] == __float_as_uint((float)((3 * r + 5 * c) % 7 - 3)) >> 16; /* the map's bf16 */       \
          v.at[e] = (unsigned short)(came ? 7 * r + c : 0xffff);                                                          \
        }                                                                                                                 \
        store_pack(at, v);                                                                                                \
      }                                                                                                                   \
      FENCE;                                                                                                              \
      MEET;                                                                                                               \
      if (tid == 0) {                                                                                                     \
        tma_store(map, tile, 64 * (int)blockIdx.x, ROWS * s, 0);                                                          \
        COMMIT;                                                                                                           \
      }                                                                                                                   \
      LATE;                                                                                                               \
    }                                                                                                                     \
    WAIT;                                                                                                                 \
  }                                                                                                                       \
  RIDGE_ENTRY(name)

#define MEET named_barrier(1, 160)
// A read by a thread of another warp that nothing orders before the next tile comes.
#define LOOK \
  if (tid == 128) y[64 * blockIdx.x] = (float)load_pack((const pack<unsigned short> *)tile).at[0]

REPLACED(fault_none_hopper_store_replaced, tma_store_read<0>(), MEET, NOTHING)
REPLACED(fault_hopper_store_replaced_no_wait, NOTHING, MEET, NOTHING)
REPLACED(fault_hopper_store_replaced_no_barrier, tma_store_read<0>(), NOTHING, NOTHING)
REPLACED(fault_hopper_store_replaced_late_reader, tma_store_read<0>(), MEET, LOOK)

// Without any copy: who reads behind all other readers and then writes is behind them too; behind some of them alone it is not. Words 0 to 63 of the tile are read by thread 32, then by 64, and written by thread 0.
#define HANDED_ON(name, FIRST, SECOND, THIRD)                                                    \
  RIDGE_KERNEL(name, 160)(RIDGE_TENSOR_MAP(map), float *y, int64_t n) {                          \
    RIDGE_SHARED(float, words, [64]);                                                            \
    const int tid = threadIdx.x;                                                                 \
    (void)n, (void)map;                                                                          \
    if (tid < 64) words[tid] = 1;                                                                \
    __syncthreads();                                                                             \
    float sum = 0;                                                                               \
    for (int at = 0; tid == 32 && at < 64; at++) sum += words[at];                               \
    FIRST;                                                                                       \
    for (int at = 0; tid == 64 && at < 64; at++) sum += words[at];                               \
    SECOND;                                                                                      \
    for (int at = 0; tid == 0 && at < 64; at++) words[at] = 64;                                  \
    THIRD;                                                                                       \
    if (tid < 64) y[64 * blockIdx.x + tid] = words[tid] + (tid == 32 ? sum - 64 : 0);            \
  }                                                                                              \
  RIDGE_ENTRY(name)

// Threads 0 to 159 meet; those of warps 0 and 2 alone; those of warps 0 and 1 alone.
#define FIRST_AND_THIRD                            \
  if (tid / 32 == 0 || tid / 32 == 2) named_barrier(2, 64)
#define FIRST_AND_SECOND \
  if (tid < 64) named_barrier(3, 64)

HANDED_ON(fault_none_hopper_handed_on, MEET, FIRST_AND_THIRD, __syncthreads())
HANDED_ON(fault_hopper_handed_on_to_one_alone, NOTHING, FIRST_AND_THIRD, __syncthreads())
HANDED_ON(fault_hopper_handed_on_past_one, MEET, FIRST_AND_SECOND, __syncthreads())

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
